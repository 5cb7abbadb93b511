# `cpack` makes Debian packages of what is installed (install.cmake): configure with -DCMAKE_INSTALL_PREFIX=/usr.
# scripts/deb_smoke.sh makes them, installs them on a bare Debian and tries them there.
set(ROOFTILE_MAINTAINER "the rooftile authors <maintainers@rooftile.invalid>" CACHE STRING "Of the Debian packages: name and address")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rooftile)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own
set(CPACK_PACKAGE_CONTACT "${ROOFTILE_MAINTAINER}")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON) # dpkg-shlibdeps asks the binaries
set(release ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})

# What dpkg-shlibdeps reads for programs that were linked with the library: a newer one may have more symbols.
get_target_property(soversion librooftile_shared SOVERSION)
file(CONFIGURE OUTPUT shlibs CONTENT "librooftile @soversion@ librooftile@soversion@ (>= @PROJECT_VERSION@)\n")
file(CONFIGURE OUTPUT triggers CONTENT "activate-noawait ldconfig\n")

# The changelog of Debian's form, of the day of SOURCE_DATE_EPOCH, or today's.
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(CONFIGURE OUTPUT changelog.Debian CONTENT "rooftile (@release@) unstable; urgency=medium

  * Version @PROJECT_VERSION@; what changed is in /usr/share/doc/rooftile/changelog.gz.

 -- @ROOFTILE_MAINTAINER@  @date@
")
rooftile_gzip(${CMAKE_BINARY_DIR}/changelog.Debian changelog.Debian.gz)

# A package: its component, name and summary, then its fields as CPack names them. Copyright and changelog of each are
# installed into packages only, which install components one by one.
function(rooftile_package component name summary)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${summary}\n${about}" PARENT_SCOPE)
  while(ARGN)
    list(POP_FRONT ARGN field value)
    set(CPACK_DEBIAN_${upper}_PACKAGE_${field} "${value}" PARENT_SCOPE)
  endwhile()
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${component} PARENT_SCOPE)
  install(CODE "if(CMAKE_INSTALL_COMPONENT)
    file(INSTALL \"${packaging}/copyright\" \"${CMAKE_BINARY_DIR}/changelog.Debian.gz\"
         DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/doc/${name}\")
  endif()" COMPONENT ${component})
endfunction()
set(about "rooftile forecasts how long deep-learning work takes, and how many joules,
on GPUs that nobody in the room has: inference, decoding and training of whole
models, on one GPU or many. It measures kernels, fits small networks under the
roofline, and says how far each forecast may be off.")
set(headers "libhdf5-dev, libjansson-dev, libopenblas-dev, libcsv-dev, zlib1g-dev")
if(ROOFTILE_HAS_ONNX)
  string(APPEND headers ", libprotobuf-c-dev")
endif()
set(CPACK_COMPONENTS_ALL)
rooftile_package(program rooftile "forecasts of deep-learning latency on GPUs"
                 DEPENDS "rooftile-data (= ${release})" RECOMMENDS libmicrohttpd12)
rooftile_package(data rooftile-data "forecasts of deep-learning latency on GPUs - predictor"
                 ARCHITECTURE all SHLIBDEPS OFF)
rooftile_package(library librooftile${soversion} "forecasts of deep-learning latency on GPUs - library"
                 SECTION libs RECOMMENDS "rooftile-data (= ${release})")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/shlibs ${CMAKE_BINARY_DIR}/triggers)
rooftile_package(development librooftile-dev "forecasts of deep-learning latency on GPUs - headers"
                 SECTION libdevel SHLIBDEPS OFF DEPENDS "librooftile${soversion} (= ${release}), ${headers}" SUGGESTS "rooftile, pkg-config")
if(EXISTS ${CMAKE_SOURCE_DIR}/python/rooftile)
  rooftile_package(python python3-rooftile "forecasts of deep-learning latency on GPUs - Python module"
                   SECTION python ARCHITECTURE all SHLIBDEPS OFF
                   DEPENDS "python3 (>= 3.9), librooftile${soversion} (>= ${release}), rooftile-data" SUGGESTS "python3-pandas, python3-torch")
endif()
include(CPack)
