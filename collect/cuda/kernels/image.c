/* The fat binary of kernels.cu, inside the program. See args.h. */

/* clang-format off */
__asm__(".pushsection .rodata, \"a\"\n"
        ".global rt_cuda_kernels_image\n"
        ".global rt_cuda_kernels_size\n"
        ".hidden rt_cuda_kernels_image\n"
        ".hidden rt_cuda_kernels_size\n"
        ".type rt_cuda_kernels_image, @object\n"
        ".type rt_cuda_kernels_size, @object\n"
        ".balign 64\n"
        "rt_cuda_kernels_image:\n"
        ".incbin \"" ROOFTILE_CUDA_KERNELS "\"\n"
        "0:\n"
        ".size rt_cuda_kernels_image, 0b - rt_cuda_kernels_image\n"
        ".balign 8\n"
        "rt_cuda_kernels_size:\n"
        ".quad 0b - rt_cuda_kernels_image\n"
        ".size rt_cuda_kernels_size, 8\n"
        ".popsection\n");
/* clang-format on */
