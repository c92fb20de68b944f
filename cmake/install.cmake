# `cmake --install build/release --prefix P`: the program, the libraries, and what find_package(octet) needs.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS octet_program octet EXPORT octetTargets)
install(TARGETS octet_vision EXPORT octetVisionTargets)
if(TARGET octet_mpi)
  install(TARGETS octet_mpi LIBRARY DESTINATION lib/octet)
endif()
if(TARGET octet_train)
  install(TARGETS octet_train)
  # What of libtorch and the packages beside it is loaded, for who asks: `make install WITH_LIBTORCH=1`.
  cmake_path(GET OCTET_LIBTORCH PARENT_PATH packages)
  install(CODE "file(GET_RUNTIME_DEPENDENCIES EXECUTABLES \"$<TARGET_FILE:octet_train>\"
      RESOLVED_DEPENDENCIES_VAR found UNRESOLVED_DEPENDENCIES_VAR ignored)
    foreach(library IN LISTS found)
      if(library MATCHES \"^${packages}/\")
        file(INSTALL DESTINATION \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/octet\" TYPE SHARED_LIBRARY
          FOLLOW_SYMLINK_CHAIN FILES \"\${library}\")
      endif()
    endforeach()" COMPONENT libtorch EXCLUDE_FROM_ALL)
endif()
install(DIRECTORY include/octet DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(octet_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/octet)
configure_package_config_file(cmake/octetConfig.cmake.in octetConfig.cmake INSTALL_DESTINATION ${octet_cmake_dir})
write_basic_package_version_file(octetConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/octetConfig.cmake ${CMAKE_BINARY_DIR}/octetConfigVersion.cmake
  cmake/FindWebP.cmake DESTINATION ${octet_cmake_dir})
install(EXPORT octetTargets NAMESPACE octet:: DESTINATION ${octet_cmake_dir})
install(EXPORT octetVisionTargets NAMESPACE octet:: DESTINATION ${octet_cmake_dir})

# The program itself knows its commands and flags, so the completions are made here, where each shell looks for them.
foreach(completion IN ITEMS bash:bash-completion/completions/octet zsh:zsh/site-functions/_octet
    fish:fish/vendor_completions.d/octet.fish)
  string(REGEX MATCH "^([a-z]+):((.*)/[^/]*)$" _ ${completion})
  set(file ${CMAKE_BINARY_DIR}/completions/${CMAKE_MATCH_2})
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/completions/${CMAKE_MATCH_3})
  install(CODE "execute_process(COMMAND \"$<TARGET_FILE:octet_program>\" completion ${CMAKE_MATCH_1}
    OUTPUT_FILE \"${file}\" COMMAND_ERROR_IS_FATAL ANY)")
  install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${CMAKE_MATCH_3})
endforeach()
