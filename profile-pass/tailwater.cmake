# For cmake -DCMAKE_TOOLCHAIN_FILE=…/tailwater.cmake, where `tailwater profile build -- cmake …` does
# not fit. Run `tailwater profile build -- true` once before: it makes the compilers named here.
set(CMAKE_C_COMPILER "${CMAKE_CURRENT_LIST_DIR}/bin/tailwater-cc")
set(CMAKE_CXX_COMPILER "${CMAKE_CURRENT_LIST_DIR}/bin/tailwater-c++")
set(CMAKE_AR "llvm-ar-22" CACHE FILEPATH "reads what the compiler writes with -flto")
set(CMAKE_RANLIB "llvm-ranlib-22" CACHE FILEPATH "reads what the compiler writes with -flto")
