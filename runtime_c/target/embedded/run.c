/* tg_embedded.h: from start-up code to the program, and what it can say of a fault. */
#include "tg_embedded.h"

#include "tg_target.h"

int main(void);

/* volatile keeps the compiler from making calls of memcpy and memset out of the loops. */
__attribute__((used)) _Noreturn void tg_run(void)
{
    const uint32_t *from = tg_data_image;

    for (volatile uint32_t *to = tg_data_start; to < tg_data_end; to++) {
        *to = *from++;
    }
    for (uint32_t *const(*hot)[3] = tg_hot_list; hot < tg_hot_list_end; hot++) {
        from = (*hot)[0];
        for (volatile uint32_t *to = (*hot)[1]; to < (*hot)[2]; to++) {
            *to = *from++;
        }
    }
    tg_synchronize_code();
    for (volatile uint32_t *to = tg_bss_start; to < tg_bss_end; to++) {
        *to = 0;
    }
    tg_exit(main());
}

void tg_print_hex(const char *name, uint32_t value)
{
    char text[9];

    for (int i = 7; i >= 0; i--, value >>= 4) {
        text[i] = (char)((value & 0xFU) < 10U ? '0' + (char)(value & 0xFU) : 'a' + (char)(value & 0xFU) - 10);
    }
    text[8] = '\0';
    tg_print(name);
    tg_print(text);
}
