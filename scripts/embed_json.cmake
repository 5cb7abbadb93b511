# Writes JSON files as a C array of texts:
#   cmake -DOUT=file.c -DARRAY=name -DFOLDER=where "-DFILES=a.json;b.json" -P this
set(text "/* Made from ${FOLDER}/ by scripts/embed_json.cmake. */\n#include <stddef.h>\n\n")
string(APPEND text "extern const char *const ${ARRAY}[];\n")
string(APPEND text "const char *const ${ARRAY}[] = {\n")
foreach(file ${FILES})
  file(READ ${file} json)
  string(REPLACE "\\" "\\\\" json "${json}")
  string(REPLACE "\"" "\\\"" json "${json}")
  string(REPLACE "\n" "\\n\"\n    \"" json "${json}")
  string(APPEND text "    \"${json}\",\n")
endforeach()
string(APPEND text "    NULL,\n};\n")
file(WRITE ${OUT} "${text}")
