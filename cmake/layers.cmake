# gpl_layer(NAME [FAST] [DEPENDS LAYER...]): the static library gpl_NAME from src/NAME/*.cc, for speed
# instead of size if FAST.
function(gpl_layer name)
  cmake_parse_arguments(ARG "FAST" "" "DEPENDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${name}/*.cc")
  add_library(gpl_${name} STATIC ${sources})
  target_include_directories(gpl_${name} PUBLIC "${CMAKE_SOURCE_DIR}/include")
  if(ARG_FAST AND CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(gpl_${name} PRIVATE -O2)
  endif()
  foreach(layer IN LISTS ARG_DEPENDS)
    target_link_libraries(gpl_${name} PUBLIC gpl_${layer})
  endforeach()
endfunction()
