/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verbs provider reads /proc/kallsyms, twice, when libfabric starts. It wants to know whether the kernel lets RDMA devices reach the memory
 * of GPUs. Each rank spends 0.17 s of a core on it, because the kernel writes several MB, 1 KiB for each call. libfabric has no
 * setting against it. If the host has no RDMA device, the answer is of no use. Then the file is hidden from libfabric while it starts:
 *
 *   libfabric --> its entry for fopen --> hiding_fopen --> fopen
 *
 * Only libfabric's own entry changes, and only until libfabric has started. If the entry is not found, libfabric reads the file.
 */
#define _GNU_SOURCE /* dladdr, dl_iterate_phdr */
#include "inter/fabric/library.h"
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SYMBOLS "/proc/kallsyms"
#define DEVICES "/sys/class/infiniband"

#if defined(__x86_64__)
#define IS_ENTRY(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#elif defined(__aarch64__)
#define IS_ENTRY(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#else
#define IS_ENTRY(type) 0 /* the file is not hidden */
#endif

typedef FILE *opens_t(const char *, const char *);

static struct {
    ElfW(Addr) base; /* the address at which libfabric is loaded */
    _Atomic(opens_t *) *entry; /* of fopen; NULL: not found */
    opens_t *before;
    char *page; /* that holds the entry, if it must be made writable */
    size_t page_bytes;
} here;

static FILE *hiding_fopen(const char *path, const char *mode)
{
    if (strcmp(path, SYMBOLS) != 0)
        return here.before(path, mode);
    errno = ENOENT;
    return NULL;
}

static int has_devices(void)
{
    DIR *folder = opendir(DEVICES);
    const struct dirent *entry;
    int found = 0;

    while (folder && !found && (entry = readdir(folder)))
        found = entry->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return found;
}

/* The memory to which an entry of the dynamic section points; glibc has added the base. */
static const void *target(const ElfW(Dyn) *dynamic, ElfW(Sxword) tag, size_t *value)
{
    for (; dynamic->d_tag != DT_NULL && dynamic->d_tag != tag;)
        dynamic++;
    *value = dynamic->d_tag == tag ? dynamic->d_un.d_val : 0;
    return (const void *)(*value < here.base ? here.base + *value : *value); // NOLINT(performance-no-int-to-ptr): addresses in memory
}

static int is_fopen(const char *name)
{
    return strcmp(name, "fopen") == 0 || strcmp(name, "fopen64") == 0;
}

static void entry_look(const ElfW(Dyn) *dynamic, ElfW(Sxword) table, ElfW(Sxword) table_bytes)
{
    size_t at, bytes;
    const ElfW(Sym) *symbols = target(dynamic, DT_SYMTAB, &at);
    const char *names = target(dynamic, DT_STRTAB, &at);

    target(dynamic, table_bytes, &bytes);
    const ElfW(Rela) *rows = target(dynamic, table, &at);
    for (size_t i = 0; at != 0 && !here.entry && i < bytes / sizeof(*rows); i++)
        if (IS_ENTRY(ELF64_R_TYPE(rows[i].r_info)) && is_fopen(names + symbols[ELF64_R_SYM(rows[i].r_info)].st_name))
            here.entry = (_Atomic(opens_t *) *)(here.base + rows[i].r_offset); // NOLINT(performance-no-int-to-ptr): likewise
}

/* For dl_iterate_phdr. The dynamic linker has made the whole pages of PT_GNU_RELRO read-only. */
static int object_look(struct dl_phdr_info *object, size_t bytes, void *arg)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    (void)bytes, (void)arg;
    if (object->dlpi_addr != here.base)
        return 0;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            const ElfW(Dyn) *dynamic = (const void *)(here.base + object->dlpi_phdr[i].p_vaddr); // NOLINT(performance-no-int-to-ptr): likewise
            entry_look(dynamic, DT_JMPREL, DT_PLTRELSZ);
            entry_look(dynamic, DT_RELA, DT_RELASZ);
        }
    for (int i = 0; i < object->dlpi_phnum && here.entry; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        const uintptr_t begin = (here.base + part->p_vaddr) & -page, end = (here.base + part->p_vaddr + part->p_memsz) & -page;
        if (part->p_type != PT_GNU_RELRO || (uintptr_t)here.entry < begin || (uintptr_t)here.entry >= end)
            continue;
        here.page = (char *)here.entry - ((uintptr_t)here.entry & (page - 1));
        here.page_bytes = page;
    }
    return 1;
}

static void entry_set(opens_t *opens)
{
    if (here.page && mprotect(here.page, here.page_bytes, PROT_READ | PROT_WRITE) != 0)
        return;
    atomic_store_explicit(here.entry, opens, memory_order_relaxed); /* other threads read it with any call */
    if (here.page)
        mprotect(here.page, here.page_bytes, PROT_READ);
}

void hx_kernel_symbols_hide(const void *of_libfabric)
{
    Dl_info object;

    if (has_devices() || !dladdr(of_libfabric, &object))
        return;
    here.base = (ElfW(Addr))object.dli_fbase;
    dl_iterate_phdr(object_look, NULL);
    if (!here.entry)
        return;
    here.before = atomic_load_explicit(here.entry, memory_order_relaxed);
    entry_set(hiding_fopen);
}

void hx_kernel_symbols_show(void)
{
    if (here.before)
        entry_set(here.before);
}
