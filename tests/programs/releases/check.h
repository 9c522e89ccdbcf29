/* What a program of these folders does where something is not as it should be: it says so, and ends. */
#pragma once
#include <stdio.h>
#include <stdlib.h>

#define OK(call)                                                 \
    do {                                                         \
        int error = (int)(call);                                 \
        if (error != 0) {                                        \
            printf("%d: %s gives %d\n", __LINE__, #call, error); \
            exit(2);                                             \
        }                                                        \
    } while (0)
#define TRUE(what)                                   \
    do {                                             \
        if (!(what)) {                               \
            printf("%d: not %s\n", __LINE__, #what); \
            exit(2);                                 \
        }                                            \
    } while (0)
