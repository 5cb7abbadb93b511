# What cuBLASLt's ids of tiles, stages and clusters stand for, from the names in its header, as C tables:
#   cmake -DHEADER=cublasLt.h -DOUT=file.h -P this
set(text "/* Made from cublasLt.h by scripts/cublaslt_ids.cmake. */\n#include <stdint.h>\n\nstruct lt_id {\n    uint16_t id, first, second;\n};\n")
function(rows array prefix)
  file(STRINGS ${HEADER} lines REGEX "^ *${prefix}_[0-9]+x[0-9A-Z]+(x1)? = [0-9]+,?$")
  string(APPEND text "static const struct lt_id ${array}[] = {\n")
  foreach(line ${lines})
    string(REPLACE "xAUTO" "x0" line "${line}")
    string(REGEX REPLACE "^ *${prefix}_([0-9]+)x([0-9]+)[x1]* = ([0-9]+),?$" "    {\\3, \\1, \\2},\n" row "${line}")
    string(APPEND text "${row}")
  endforeach()
  string(APPEND text "};\n")
  set(text "${text}" PARENT_SCOPE)
endfunction()
rows(tile_ids CUBLASLT_MATMUL_TILE)
rows(stage_ids CUBLASLT_MATMUL_STAGES) # depth x count, 0 where the library chooses the count
rows(cluster_ids CUBLASLT_CLUSTER_SHAPE)
file(WRITE ${OUT} "${text}")
