//! The space of `vae.toml`, built with Rust operators.
//!
//! ```sh
//! cargo run --release -p mivabo --example vae
//! ```

use mivabo::space::{Domain, Space};

/// MiVaBo, Appendix E, Table 2: every layer can be switched off.
///
/// # Errors
/// None: the space is valid. A space of your own may not be.
pub fn space() -> Result<Space, mivabo::space::Error> {
    let mut space = Space::builder();
    let n_conv = space.integer("n_conv", 0..=2);
    let c1 = convolution(&mut space, "c1", [4, 8, 16, 24]);
    let c2 = convolution(&mut space, "c2", [8, 16, 32, 48]);
    for (layer, needed) in [(c1, 1), (c2, 2)] {
        for var in layer {
            space.only_when(var, n_conv.ge(needed));
        }
    }
    let n_fc_enc = space.integer("n_fc_enc", 0..=2);
    let f1_units = space.add("f1_units", Domain::int(0, 960).step(64));
    space.only_when(f1_units, n_fc_enc.ge(1));
    space.integer("d_z", 16..=64);
    let n_fc_dec = space.integer("n_fc_dec", 0..=2);
    let f4_units = space.add("f4_units", Domain::int(0, 960).step(64));
    space.only_when(f4_units, n_fc_dec.ge(1));

    let n_deconv = space.integer("n_deconv", 0..=2);
    let [d1_channels, d1_stride, d1_filter, d1_pad] =
        convolution(&mut space, "d1", [8, 16, 32, 48]);
    let d1_out = space.integer("d1_out", 0..=3);
    for var in [d1_stride, d1_filter, d1_pad, d1_out] {
        space.only_when(var, n_deconv.ge(1));
    }
    let [d2_channels, d2_stride, d2_filter, d2_pad] = convolution(&mut space, "d2", [4, 8, 16, 24]);
    let d2_out = space.integer("d2_out", 0..=3);
    for var in [d2_channels, d2_stride, d2_filter, d2_pad, d2_out] {
        space.only_when(var, n_deconv.ge(2));
    }
    space.add("learning_rate", Domain::float(1e-4, 1e-2).log());
    space.add("decay", Domain::float(0.5, 1.0));
    space.add("weight_decay", Domain::float(1e-6, 1e-2).log());

    // Image widths after each layer. A division of integers must come out whole.
    let [_, c1_stride, c1_filter, c1_pad] = c1;
    let [_, c2_stride, c2_filter, c2_pad] = c2;
    let w1 = space.define("w1", (28 - c1_filter + c1_pad) / c1_stride + 1);
    let w2 = space.define("w2", (w1 - c2_filter + c2_pad) / c2_stride + 1);
    let v1 = space.define("v1", 6 * d1_stride + d1_filter - 2 * d1_pad + d1_out);
    let v2 = space.define("v2", (v1 - 1) * d2_stride + d2_filter - 2 * d2_pad + d2_out);

    space.subject_to("one convolution keeps a size", w1.ge(1));
    space.subject_to("two convolutions keep a size", w2.ge(1));
    space.subject_to(
        "one deconvolution ends at 28",
        n_deconv.eq(1).implies(v1.eq(28)),
    );
    space.subject_to("two deconvolutions end at 28", v2.eq(28));
    space.subject_to(
        "no deconvolution: 16 channels",
        n_deconv.eq(0).implies(d1_channels.eq(16)),
    );
    space.build()
}

/// Channels, stride, filter size and padding of one layer.
fn convolution(
    space: &mut mivabo::space::SpaceBuilder,
    name: &str,
    channels: [i64; 4],
) -> [mivabo::space::Var; 4] {
    [
        space.add(format!("{name}_channels"), Domain::ordinal(channels)),
        space.integer(format!("{name}_stride"), 1..=2),
        space.add(format!("{name}_filter"), Domain::int(3, 5).step(2)),
        space.integer(format!("{name}_pad"), 0..=3),
    ]
}

fn main() -> Result<(), mivabo::Error> {
    let space = space()?;
    println!(
        "{} bits, {} reals",
        space.encoding().n_bits(),
        space.encoding().n_reals()
    );
    for constraint in space.constraints() {
        println!("{}: {}", constraint.name(), constraint.class());
    }
    println!("fingerprint {}", space.fingerprint());
    Ok(())
}
