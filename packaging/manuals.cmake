# Manual pages from --help, a page for the program and each of its commands:
#   cmake -DROOFTILE=program -DVERSION=0.1.0 -DOUT=folder -DHELP2MAN=help2man -DGZIP=gzip -P this
# help2man runs what it is given with --help and --version: a script that stands for "rooftile COMMAND" is called as the
# page is. Its date is SOURCE_DATE_EPOCH's, or today's.
set(ENV{LC_ALL} C.UTF-8)
set(ENV{COLUMNS} 80)
file(REMOVE_RECURSE ${OUT})
file(MAKE_DIRECTORY ${OUT}/man1 ${OUT}/scripts)

function(page words brief)
  string(JOIN "-" name rooftile ${words})
  string(JOIN " " command ${words})
  set(script ${OUT}/scripts/${name})
  file(WRITE ${script} "#!/bin/sh\n[ \"$1\" = --help ] || command=--version\nexec '${ROOFTILE}' \${command:-${command} --help}\n")
  file(CHMOD ${script} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  execute_process(COMMAND ${HELP2MAN} --no-info --name=${brief} --version-string=${VERSION} --source=rooftile
                          --manual=rooftile --output=${OUT}/man1/${name}.1 ${script} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${GZIP} -9nf ${OUT}/man1/${name}.1 COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# A page for the words, and one for each command below them. What a shell completes lists these: "train<TAB>fit a predictor".
function(pages words brief)
  page("${words}" "${brief}")
  execute_process(COMMAND ${ROOFTILE} ${words} --help OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
  if(NOT help MATCHES "\nCommands:\n")
    return()
  endif()
  execute_process(COMMAND ${ROOFTILE} completion words -- ${words} "" OUTPUT_VARIABLE below COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[a-z]+\t[^\n]+" below "${below}")
  foreach(line ${below})
    string(REGEX MATCH "^([a-z]+)\t(.*)$" line "${line}")
    pages("${words};${CMAKE_MATCH_1}" "${CMAKE_MATCH_2}")
  endforeach()
endfunction()
pages("" "forecasts how long deep-learning work takes on GPUs")
file(WRITE ${OUT}/made "")
