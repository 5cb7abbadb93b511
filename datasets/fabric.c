/* What joins the GPUs of one server. See fabric.h. */
#include "datasets/fabric.h"

const char *const rt_fabrics[RT_FABRIC_COUNT] = {"own",  "switch",    "mesh",     "pairs",
                                                 "pcie", "pcie-peer", "pcie-host"};

const char *const rt_networks[RT_NETWORK_COUNT] = {"own", "infiniband", "roce", "efa", "slingshot", "tcp"};

bool rt_fabric_is_pcie(enum rt_fabric fabric, int64_t gpus)
{
    return fabric >= RT_FABRIC_PCIE || (fabric == RT_FABRIC_PAIRS && gpus > 2);
}
