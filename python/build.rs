//! What the linker needs for a library whose interpreter is elsewhere; on Linux nothing.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
