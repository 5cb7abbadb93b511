# Writes files as a C array of texts, in the order of their names:
#   cmake -DOUT=file.c -DARRAY=name -DFOLDER=where "-DFILES=a;b" -P this
set(text "/* Made from ${FOLDER}/ by scripts/embed_texts.cmake. */\n#include <stddef.h>\n\n")
string(APPEND text "extern const char *const ${ARRAY}[];\n")
string(APPEND text "const char *const ${ARRAY}[] = {\n")
foreach(file ${FILES})
  file(READ ${file} text_of_file)
  string(REPLACE "\\" "\\\\" text_of_file "${text_of_file}")
  string(REPLACE "\"" "\\\"" text_of_file "${text_of_file}")
  string(REPLACE "\n" "\\n\"\n    \"" text_of_file "${text_of_file}")
  string(APPEND text "    \"${text_of_file}\",\n")
endforeach()
string(APPEND text "    NULL,\n};\n")
file(WRITE ${OUT} "${text}")
