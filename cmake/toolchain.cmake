# Language level, warnings and sections: the same for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Assertions stay on in release: a programmer's error must not go on as wrong state.
# For size: most of gpl waits for others, and is to be carried about. What is busy is compiled for
# speed (cmake/layers.cmake).
set(CMAKE_CXX_FLAGS_RELEASE "-Os")

add_compile_options(-ffunction-sections -fdata-sections -fno-plt)
add_compile_options(
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wcast-qual
  -Wnon-virtual-dtor -Woverloaded-virtual -Wformat=2 -Wimplicit-fallthrough -Wswitch-enum -Wundef)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # -Wrestrict: g++ 12 gives it for correct string concatenation (GCC bug 105651).
  # -Wmaybe-uninitialized: g++ 12 gives it at -O2 for the inactive members of a variant that is
  # moved. What is truly uninitialized, clang-tidy and the sanitizers find.
  add_compile_options(-Werror -Wduplicated-cond -Wlogical-op -Wuseless-cast -Wno-restrict
                      -Wno-maybe-uninitialized)
endif()
