# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Programs that were not written for Hierax, for suites.sh and programs.sh: how to run them, and what their results are.
# A program is a row: its name, its MPI (of Debian's package), what must be there, and the package that has it.
programs="
melt    openmpi /usr/share/lammps/examples/melt/in.melt       lammps-examples
peptide openmpi /usr/share/lammps/examples/peptide/in.peptide lammps-examples
hpcc    openmpi /usr/share/doc/hpcc/examples/_hpccinf.txt     hpcc
kmeans  openmpi /usr/lib/python3/dist-packages/mpi4py         python3-mpi4py
loops   openmpi $here/loops-openmpi                           -
loops   mpich   $here/loops-mpich                             -
"

# prepare PROGRAM MPI N LENGTH: its files in $tmp/work, and its command in the array `command`. LENGTH: short or long
prepare() {
    local steps=20 order=100 points=4000 rounds=20 most=65536 us=200
    [ "$4" = short ] || { steps=250; order=1000; points=200000; rounds=100; most=4194304; us=20000; }
    rm -rf "$tmp/work"
    mkdir "$tmp/work"
    case $1 in
        melt | peptide)
            cp -rT "/usr/share/lammps/examples/$1" "$tmp/work"
            sed -i -e "s/^run.*/run $steps/" -e 's/^thermo[[:blank:]].*/thermo 10/' "$tmp/work/in.$1"
            command=(lmp -in "in.$1" -log none)
            ;;
        hpcc)
            sed -e "6s/^1000 /$order /" -e '8s/^80 /32 /' -e '11s/^2 /1 /' -e "12s/^2 /$3 /" /usr/share/doc/hpcc/examples/_hpccinf.txt \
                >"$tmp/work/hpccinf.txt"
            command=(hpcc)
            ;;
        kmeans) command=(/usr/bin/python3 "$tests/kmeans.py" "$points" "$rounds") ;;
        loops) command=("$here/loops-$2" 8 "$most" "$us") ;;
    esac
}

# results PROGRAM: of the job that has ended
results() {
    case $1 in
        melt | peptide) # one table of thermodynamic values, or steps of named values
            awk '/^Loop/ { exit } /^ *Step|^---/ { on = 1 } on' "$tmp/out" | sed 's/CPU = .*//'
            ;;
        hpcc)
            grep -cE '^ +[1-9][0-9]* tests completed and failed' "$tmp/work/hpccoutf.txt"
            grep -E '^(Success|PTRANS_residual|MPIRandomAccess(_LCG)?_ErrorsFraction)=' "$tmp/work/hpccoutf.txt"
            ;;
        kmeans) grep '^centre' "$tmp/out" ;;
        loops) grep '^loops:' "$tmp/out" ;;
    esac
}

# alike FILE FILE: the same words; numbers may differ by a millionth, because a sum of doubles depends on its order
alike() {
    awk 'NR == FNR { of[FNR] = $0; n = FNR; next }
        { if (split(of[FNR], a) != NF) exit bad = 1
          for (i = 1; i <= NF; i++) {
              d = a[i] - $i
              if (a[i] != $i && (a[i] + 0 == 0 && a[i] !~ /^[-+]?[0.]+/ || (d < 0 ? -d : d) > 1e-6 * (a[i] < 0 ? -a[i] : a[i]) + 1e-9))
                  exit bad = 1 } }
        END { exit bad || !n || FNR != n }' "$1" "$2"
}
