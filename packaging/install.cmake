# What `cmake --install` puts where. Components are the Debian packages of deb.cmake: program, library, development,
# data (the predictor) and python.
set(doc ${CMAKE_INSTALL_DATADIR}/doc/rooftile)
set(packaging ${CMAKE_SOURCE_DIR}/packaging)

install(TARGETS rooftile COMPONENT program)
install(TARGETS librooftile_shared EXPORT rooftile-shared LIBRARY COMPONENT library NAMELINK_COMPONENT development
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rooftile)
install(TARGETS librooftile_static EXPORT rooftile-static ARCHIVE COMPONENT development
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rooftile)
install(FILES rooftile.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rooftile COMPONENT development)
install(FILES models/predictors/pretrained/rooftile.h5 DESTINATION ${CMAKE_INSTALL_DATADIR}/rooftile COMPONENT data)

# pkg-config: relative, so that `cmake --install --prefix ANYWHERE` gives a file that is right there.
file(RELATIVE_PATH PKGCONFIG_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${packaging}/rooftile.pc.in rooftile.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/rooftile.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# find_package(rooftile): rooftile::rooftile, and rooftile::static where what it needs is found.
include(CMakePackageConfigHelpers)
set(config ${CMAKE_INSTALL_LIBDIR}/cmake/rooftile)
configure_package_config_file(${packaging}/rooftile-config.cmake.in rooftile-config.cmake INSTALL_DESTINATION ${config})
write_basic_package_version_file(rooftile-config-version.cmake COMPATIBILITY SameMinorVersion) # before 1.0.0
install(FILES ${CMAKE_BINARY_DIR}/rooftile-config.cmake ${CMAKE_BINARY_DIR}/rooftile-config-version.cmake
        DESTINATION ${config} COMPONENT development)
foreach(kind shared static)
  install(EXPORT rooftile-${kind} NAMESPACE rooftile:: FILE rooftile-${kind}.cmake DESTINATION ${config} COMPONENT development)
endforeach()

# Pages, at their places in the tree, so that links from one to another hold; the example that one of them compiles.
install(FILES README.md CONTRIBUTING.md ${packaging}/copyright DESTINATION ${doc} COMPONENT program)
foreach(folder docs datasets/devices datasets/sample)
  install(DIRECTORY ${folder} DESTINATION ${doc}/${folder}/.. COMPONENT program FILES_MATCHING PATTERN *.md PATTERN *.csv PATTERN *.h5)
endforeach()
foreach(page tests/bench/README.md datasets/FORMAT.md models/predictors/predictor/FORMAT.md models/predictors/pretrained/README.md
        models/networks/architectures/types/README.md models/networks/zoo/README.md)
  cmake_path(GET page PARENT_PATH folder)
  install(FILES ${page} DESTINATION ${doc}/${folder} COMPONENT program)
endforeach()
install(DIRECTORY docs/examples DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/rooftile/docs COMPONENT program
        FILES_MATCHING PATTERN *.c)
if(EXISTS ${CMAKE_SOURCE_DIR}/python/rooftile)
  set(ROOFTILE_PYTHON_DIR lib/python3/dist-packages CACHE STRING "Where the Python module is installed, from the prefix")
  install(DIRECTORY python/rooftile DESTINATION ${ROOFTILE_PYTHON_DIR} COMPONENT python
          FILES_MATCHING PATTERN *.py PATTERN py.typed PATTERN *.pyi PATTERN __pycache__ EXCLUDE)
endif()

find_program(GZIP gzip REQUIRED)
function(rooftile_gzip file name) # the same bytes whenever it is made
  execute_process(COMMAND ${GZIP} -9nc ${file} OUTPUT_FILE ${CMAKE_BINARY_DIR}/${name} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/CHANGELOG.md)
rooftile_gzip(${CMAKE_SOURCE_DIR}/CHANGELOG.md changelog.gz)
install(FILES ${CMAKE_BINARY_DIR}/changelog.gz DESTINATION ${doc} COMPONENT program)

# Completion of shells, where each looks.
set(completion base/completion/rooftile)
install(FILES ${completion}.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME rooftile COMPONENT program)
install(FILES ${completion}.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions RENAME _rooftile COMPONENT program)
install(FILES ${completion}.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)

# Manual pages, made from --help where help2man is there.
find_program(HELP2MAN help2man)
if(HELP2MAN AND NOT ROOFTILE_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  set(manuals ${CMAKE_BINARY_DIR}/man)
  add_custom_command(OUTPUT ${manuals}/made
                     COMMAND ${CMAKE_COMMAND} -DROOFTILE=$<TARGET_FILE:rooftile> -DVERSION=${PROJECT_VERSION} -DOUT=${manuals}
                             -DHELP2MAN=${HELP2MAN} -DGZIP=${GZIP} -P ${packaging}/manuals.cmake
                     DEPENDS rooftile ${packaging}/manuals.cmake VERBATIM)
  add_custom_target(manuals ALL DEPENDS ${manuals}/made)
  install(DIRECTORY ${manuals}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT program)
else()
  message(STATUS "Manual pages: not made (needs help2man)")
endif()
