# SPDX-License-Identifier: BSD-3-Clause
# No release of Hierax can be downloaded yet, so this recipe has no url. Spack 1.0 or later builds it from a checkout. In its top folder:
#     spack repo add tools/packaging/spack/spack_repo/hierax
#     spack dev-build hierax@0.3.0
# When a release is published, set url here, and the sha256 of its tarball in version().
from spack_repo.builtin.build_systems.autotools import AutotoolsPackage

from spack.package import *


class Hierax(AutotoolsPackage):
    """Collective operations for jobs with many ranks per node: shared memory inside a node, libfabric (AWS EFA) between nodes."""

    license("BSD-3-Clause")

    version("0.3.0")

    variant("pmix", default=True, description="Start under launchers with PMIx: srun --mpi=pmix, mpirun")
    variant("mpi", default=False, description="Install coll_bench_mpi, the benchmark over MPI, and the library that serves MPI programs")
    variant("static", default=False, description="Install the static library too")

    depends_on("c", type="build")
    depends_on("autoconf@2.69:", type="build")
    depends_on("automake@1.16:", type="build")
    depends_on("libtool", type="build")
    depends_on("m4", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("libfabric@1.17:")
    depends_on("hwloc@2:")
    depends_on("rdma-core")
    depends_on("json-c")
    depends_on("libsodium@1.0.12:")
    depends_on("xxhash@0.8:")
    depends_on("pmix", when="+pmix")
    depends_on("mpi", when="+mpi")
    depends_on("python@3:", type="run")

    conflicts("platform=darwin", msg="Hierax runs on Linux only")
    conflicts("platform=windows", msg="Hierax runs on Linux only")

    def configure_args(self):
        mpicc = self.spec["mpi"].mpicc if self.spec.satisfies("+mpi") else "no"
        args = ["--disable-probes", "--without-python", f"--with-mpicc={mpicc}", *self.with_or_without("mpi"), *self.enable_or_disable("static")]
        if self.spec.satisfies("~pmix"):
            args.append("ac_cv_header_pmix_h=no")  # or configure would take the system's
        return args

    def setup_run_environment(self, env):
        if self.spec.satisfies("+pmix"):  # libpmix is loaded by its name when a job starts
            env.prepend_path("LD_LIBRARY_PATH", self.spec["pmix"].prefix.lib)

    @run_after("install", when="+mpi")
    def install_mpi_benchmark(self):
        with working_dir(self.build_directory):
            install("tools/coll_bench_mpi", self.prefix.bin)
