/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs in Fortran. The library for Fortran of each MPI converts the arguments. Then that of Open MPI calls PMPI_Allreduce and so on, and
 * so does that of MPICH for a part of the module mpi_f08. This points its entries for these functions (of its global offset table) at the
 * functions of this library. The other functions of MPICH call MPI_Allreduce, and so come here anyway.
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

/* The parts of a loaded library that are needed here. */
struct parts {
    ElfW(Addr) base, read_only, read_only_end; /* read_only: the loader has protected this after filling it */
    const char *names;
    const ElfW(Sym) *symbols;
    const ElfW(Rela) *entries[2]; /* of functions that are called, and of all else */
    size_t counts[2];
};

/* An address in the dynamic section: the C library has added the base already, or has not. */
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

/* This library's function of this name, without the P; NULL: it has none. */
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
        return; /* MPI makes these calls. It is the same on all ranks */
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
