"""The auto-encoder of the paper's Appendix E: C1-C2-F1-F2-z-F3-F4-D1-D2, every layer can be switched off.

Enters: a valid configuration with the names of `examples/vae.toml`; parameters of layers that are off may be absent.
Leaves: a network on images in {0, 1}^784.

    encoder  x -> C1 -> C2 -> F1 -> F2 -> (mean, log variance) of q(z | x)
    decoder  z -> F3 -> F4 -> d1_channels x 7 x 7 -> D1 -> D2 -> logits of p(x | z)

Readings of what the paper leaves open (README.md says why):
  * (mean, log variance) and d1_channels x 7 x 7 are linear layers that are always there; `n_fc` counts the hidden
    layers in front of them: 1 is F1 or F4, 2 is F1 and F2 (2 d_z units), or F3 (d_z units) and F4;
  * a layer of 0 units is left out;
  * a layer's channels are what it puts out in the encoder and what it takes in in the decoder; the last deconvolution
    puts out one channel;
  * padding is asymmetric in the encoder, (P + 1) // 2 before and P // 2 after;
  * PyTorch knows output padding below the stride only; the rest is zeros on the right and below, after the bias;
  * ReLU after every hidden layer, also between 7 x 7 and D1.
"""

from torch import Tensor, nn

SIDE, PIXELS, SMALL = 28, 784, 7  # SMALL: the width of the image that enters D1


class Vae(nn.Module):
    """The network of a valid configuration."""

    def __init__(self, params: dict):
        super().__init__()
        self.d_z = params["d_z"]
        self.encoder = nn.Sequential(*_encoder(params))
        self.decoder = nn.Sequential(*_decoder(params))

    def encode(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log variance of q(z | x), each (n, d_z)."""
        return self.encoder(images).chunk(2, dim=1)

    def decode(self, z: Tensor) -> Tensor:
        """Logits of p(x | z), (n, 784)."""
        return self.decoder(z)


def _encoder(params: dict) -> list[nn.Module]:
    layers: list[nn.Module] = []
    channels, width = 1, SIDE
    if params["n_conv"] > 0:
        layers.append(nn.Unflatten(1, (1, SIDE, SIDE)))
    for layer in range(1, params["n_conv"] + 1):
        out, filter_, pad, stride = (params[f"c{layer}_{name}"] for name in ("channels", "filter", "pad", "stride"))
        before, after = (pad + 1) // 2, pad // 2
        layers += [nn.ZeroPad2d((before, after, before, after)), nn.Conv2d(channels, out, filter_, stride), nn.ReLU()]
        channels, width = out, (width - filter_ + pad) // stride + 1
    if params["n_conv"] > 0:
        layers.append(nn.Flatten())
    hidden = [params["f1_units"]] if params["n_fc_enc"] >= 1 else []
    hidden += [2 * params["d_z"]] if params["n_fc_enc"] == 2 else []
    return layers + _linear(channels * width * width, hidden, 2 * params["d_z"])


def _decoder(params: dict) -> list[nn.Module]:
    hidden = [params["d_z"]] if params["n_fc_dec"] == 2 else []
    hidden += [params["f4_units"]] if params["n_fc_dec"] >= 1 else []
    layers = _linear(params["d_z"], hidden, params["d1_channels"] * SMALL * SMALL)
    if params["n_deconv"] == 0:
        return layers
    layers += [nn.ReLU(), nn.Unflatten(1, (params["d1_channels"], SMALL, SMALL))]
    for layer in range(1, params["n_deconv"] + 1):
        into, filter_, pad, stride, out = (
            params[f"d{layer}_{name}"] for name in ("channels", "filter", "pad", "stride", "out")
        )
        last = layer == params["n_deconv"]
        own = min(out, stride - 1)
        deconv = nn.ConvTranspose2d(into, 1 if last else params["d2_channels"], filter_, stride, pad, own)
        layers += [deconv, nn.ZeroPad2d((0, out - own, 0, out - own)), nn.Flatten() if last else nn.ReLU()]
    return layers


def _linear(into: int, hidden: list[int], out: int) -> list[nn.Module]:
    """Linear layers with ReLU between them; those of 0 units are left out."""
    layers: list[nn.Module] = []
    for units in filter(None, hidden):
        layers += [nn.Linear(into, units), nn.ReLU()]
        into = units
    return [*layers, nn.Linear(into, out)]
