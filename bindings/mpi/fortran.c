/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs in Fortran. Each MPI has a Fortran library, which converts the arguments and then calls a function of C. In Open MPI this is
 * PMPI_Allreduce and so on, and in MPICH too for a part of the module mpi_f08. So this file changes the entries for these functions in the
 * global offset table of the Fortran library: they then lead to the functions of this library. The other functions of MPICH's Fortran library
 * call MPI_Allreduce, which is this library's already.
 *
 *   program    mpi_allreduce_ -->  libmpi_mpifh.so    PMPI_Allreduce -->  libmpi.so
 *                                                           `---------->  this library's MPI_Allreduce
 *
 * The loader has filled or prepared the entries before constructors run.
 */
#include "hxmpi.h"
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#define IS_ENTRY(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#elif defined(__aarch64__)
#define IS_ENTRY(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#endif

#ifdef IS_ENTRY
static const char *const libraries[] = {"libmpi_mpifh", "libmpifort", "libmpichfort"}; /* how the names of their files start */

/* The parts of a loaded library that this file needs. */
struct parts {
    ElfW(Addr) base, read_only, read_only_end; /* read_only: the loader has protected this after filling it */
    const char *names;
    const ElfW(Sym) *symbols;
    const ElfW(Rela) *entries[2]; /* 0: functions that are called (PLT); 1: all other symbols */
    size_t counts[2];
};

/* An address in the dynamic section. Some C libraries have added the base already, others have not. */
static const void *address_of(const struct parts *parts, ElfW(Addr) address)
{
    return (const void *)(address < parts->base ? parts->base + address : address);
}

static void dynamic_read(struct parts *parts, const ElfW(Dyn) *dynamic)
{
    for (; dynamic->d_tag != DT_NULL; dynamic++)
        switch (dynamic->d_tag) {
        case DT_STRTAB: parts->names = address_of(parts, dynamic->d_un.d_ptr); break;
        case DT_SYMTAB: parts->symbols = address_of(parts, dynamic->d_un.d_ptr); break;
        case DT_JMPREL: parts->entries[0] = address_of(parts, dynamic->d_un.d_ptr); break;
        case DT_PLTRELSZ: parts->counts[0] = dynamic->d_un.d_val / sizeof(ElfW(Rela)); break;
        case DT_RELA: parts->entries[1] = address_of(parts, dynamic->d_un.d_ptr); break;
        case DT_RELASZ: parts->counts[1] = dynamic->d_un.d_val / sizeof(ElfW(Rela)); break;
        default: break;
        }
}

/* This library's function for PMPI_name: MPI_name. NULL: it has none. */
static void *own_function(void *self, const void *self_base, const char *name)
{
    void *found = strncmp(name, "PMPI", 4) == 0 ? dlsym(self, name + 1) : NULL;
    Dl_info of;

    return found && dladdr(found, &of) && of.dli_fbase == self_base ? found : NULL;
}

static void entry_write(const struct parts *parts, ElfW(Addr) at, void *function)
{
    const ElfW(Addr) page = at & ~((ElfW(Addr))sysconf(_SC_PAGESIZE) - 1);
    const size_t bytes = at + sizeof(void *) - page;

    if (mprotect((void *)page, bytes, PROT_READ | PROT_WRITE) != 0)
        return; /* MPI then serves these calls, as it does on the other ranks, where this fails too */
    memcpy((void *)at, &function, sizeof(function));
    if (at >= parts->read_only && at < parts->read_only_end)
        mprotect((void *)page, bytes, PROT_READ);
}

static void entries_write(const struct parts *parts)
{
    Dl_info own;
    void *self = dladdr((void *)&MPI_Init, &own) ? dlopen(own.dli_fname, RTLD_NOLOAD | RTLD_LAZY) : NULL;

    for (int kind = 0; self && kind < 2; kind++)
        for (size_t i = 0; i < parts->counts[kind]; i++) {
            const ElfW(Rela) *entry = &parts->entries[kind][i];
            const ElfW(Sym) *symbol = &parts->symbols[ELF64_R_SYM(entry->r_info)];
            void *function =
                IS_ENTRY(ELF64_R_TYPE(entry->r_info)) ? own_function(self, own.dli_fbase, parts->names + symbol->st_name) : NULL;
            if (function)
                entry_write(parts, parts->base + entry->r_offset, function);
        }
    if (self)
        dlclose(self);
}

static int library_look(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct parts parts = {.base = info->dlpi_addr};
    const char *slash = strrchr(info->dlpi_name, '/'), *name = slash ? slash + 1 : info->dlpi_name;
    int is_known = 0;

    (void)size, (void)arg;
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++)
        is_known |= strncmp(name, libraries[i], strlen(libraries[i])) == 0;
    if (!is_known)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type == PT_DYNAMIC)
            dynamic_read(&parts, (const void *)(parts.base + header->p_vaddr));
        if (header->p_type == PT_GNU_RELRO) {
            parts.read_only = parts.base + header->p_vaddr;
            parts.read_only_end = parts.read_only + header->p_memsz;
        }
    }
    if (parts.names && parts.symbols)
        entries_write(&parts);
    return 0;
}

__attribute__((constructor)) static void fortran_enter(void)
{
    dl_iterate_phdr(library_look, NULL);
}
#endif
