{
  "targets": [
    {
      "target_name": "kubelet_native",
      "sources": [
        "native/addon.cc",
        "native/environment.cc",
        "native/watch_functions.cc",
        "native/batch_functions.cc",
        "native/step_functions.cc",
        "native/misc_functions.cc",
        "native/fd_watch.cc",
        "native/inotify.cc",
        "native/kmsg.cc",
        "native/file_batch.cc",
        "native/number_forms.cc",
        "native/mount.cc",
        "native/path_resolve.cc",
        "native/tree.cc",
        "native/project_quota.cc",
        "native/file_steps.cc",
        "native/misc.cc"
      ],
      "include_dirs": ["<!(node -p \"require('node-addon-api').include_dir\")"],
      "defines": ["NAPI_VERSION=9", "NAPI_DISABLE_CPP_EXCEPTIONS", "NODE_ADDON_API_DISABLE_DEPRECATED", "NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS"],
      "cflags": ["-Wall", "-Wextra", "-Wno-unused-parameter", "-fvisibility=hidden"],
      "cflags_cc!": ["-std=gnu++17", "-std=gnu++20", "-fexceptions", "-fno-rtti"],
      "cflags_cc": ["-std=c++20", "-fno-exceptions"],
      "ldflags": ["-Wl,-z,relro,-z,now", "-static-libstdc++", "-static-libgcc", "-Wl,-s"]
    }
  ]
}
