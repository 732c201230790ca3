/* SPDX-License-Identifier: BSD-3-Clause */
/* Documents are UTF-8; names of files and arguments are any bytes. */
#ifndef HX_TOOLS_COMMON_UTF8_H
#define HX_TOOLS_COMMON_UTF8_H

/* Bytes of the character at text when it is valid UTF-8 and may stand in XML, else 0. */
static inline int utf8_character(const unsigned char *text)
{
    int n = text[0] < 0x80                  ? 1
        : text[0] >= 0xc2 && text[0] < 0xe0 ? 2
        : (text[0] & 0xf0) == 0xe0          ? 3
        : text[0] >= 0xf0 && text[0] < 0xf5 ? 4
                                            : 0;

    if (n == 1)
        return text[0] >= 0x20 && text[0] != 0x7f;
    for (int i = 1; i < n; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] >= 0xa0) ||
        (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] >= 0x90) ||
        (text[0] == 0xef && text[1] == 0xbf && text[2] >= 0xbe))
        return 0; /* overlong, halves of pairs, beyond the last, no characters */
    return n;
}

#endif
