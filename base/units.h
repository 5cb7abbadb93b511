/* Units: how many of the small one the large one is. Bytes of memory are counted in GiB, links and sheets in GB. */
#pragma once

#define RT_KIB 1024.0
#define RT_MIB 1048576.0
#define RT_GIB 1073741824.0
#define RT_MWH 3.6e9 /* joules */
