import { createHash } from "node:crypto";
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { packTar, sha256Of } from "../archive.mjs";

const types = {
  layer: "application/vnd.oci.image.layer.v1.tar+gzip",
  config: "application/vnd.oci.image.config.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  index: "application/vnd.oci.image.index.v1+json",
};

/** A folder as the OCI Image Layout Specification 1.1 describes it: blobs by digest, and an index of what is named. */
export class Layout {
  #folder;
  #named = [];

  constructor(folder) {
    this.#folder = folder;
    mkdirSync(join(folder, "blobs", "sha256"), { recursive: true });
    writeFileSync(join(folder, "oci-layout"), '{"imageLayoutVersion":"1.0.0"}');
  }

  #blob(hex) {
    return join(this.#folder, "blobs", "sha256", hex);
  }

  #putJson(mediaType, value) {
    const bytes = Buffer.from(JSON.stringify(value));
    const hex = createHash("sha256").update(bytes).digest("hex");
    writeFileSync(this.#blob(hex), bytes);
    return { mediaType, digest: `sha256:${hex}`, size: bytes.length };
  }

  /** The files of a folder as a layer, with the modes that they have. Returns `{ descriptor, diffId }`. */
  async putLayer(folder, epoch) {
    const tar = join(this.#folder, "layer.tar");
    const packed = `${tar}.gz`;
    packTar(tar, folder, epoch, { folders: true, keepModes: true });
    const diffId = `sha256:${await sha256Of(tar)}`;
    await pipeline(createReadStream(tar), createGzip({ level: 6 }), createWriteStream(packed));
    rmSync(tar);
    const hex = await sha256Of(packed);
    renameSync(packed, this.#blob(hex));
    return {
      diffId,
      descriptor: { mediaType: types.layer, digest: `sha256:${hex}`, size: statSync(this.#blob(hex)).size },
    };
  }

  /** An image of one platform, by its layers from the bottom up. Returns its descriptor. */
  putImage({ arch, config, layers, created, history }) {
    const described = this.#putJson(types.config, {
      architecture: arch,
      os: "linux",
      created,
      config,
      rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
      history: history.map((comment) => ({ created, comment })),
    });
    const content = { schemaVersion: 2, mediaType: types.manifest, config: described };
    const manifest = this.#putJson(types.manifest, { ...content, layers: layers.map(({ descriptor }) => descriptor) });
    return { ...manifest, platform: { architecture: arch, os: "linux" } };
  }

  /**
   * Names the images of all platforms, for containerd also by digest, as a chart names them. Returns the digest by
   * which registries will have them.
   */
  putIndex(name, manifests, annotations) {
    const index = { schemaVersion: 2, mediaType: types.index, manifests, annotations };
    const descriptor = this.#putJson(types.index, index);
    const names = { "io.containerd.image.name": name, "org.opencontainers.image.ref.name": name };
    const pinned = { "io.containerd.image.name": `${name.replace(/:[^/:]*$/, "")}@${descriptor.digest}` };
    this.#named.push({ ...descriptor, annotations: names }, { ...descriptor, annotations: pinned });
    return descriptor.digest;
  }

  /** Writes the index of what was named: the layout is whole then. */
  end() {
    const index = { schemaVersion: 2, mediaType: types.index, manifests: this.#named };
    writeFileSync(join(this.#folder, "index.json"), JSON.stringify(index));
  }

  /**
   * Takes the layers and the configuration of another layout's first image for a platform; null where it has none.
   *
   * @param {string} from folder of the layout
   * @param {string} arch as in OCI: amd64, arm64
   */
  takeImage(from, arch) {
    const read = ({ digest }) => JSON.parse(readFileSync(join(from, "blobs", ...digest.split(":")), "utf8"));
    const images = (index) =>
      index.manifests.flatMap((each) => (each.mediaType === types.manifest ? [each] : images(read(each))));
    for (const each of images(JSON.parse(readFileSync(join(from, "index.json"), "utf8")))) {
      const manifest = read(each);
      const { architecture, os, config = {}, rootfs } = read(manifest.config);
      if (architecture !== arch || os !== "linux") continue;
      for (const { digest } of manifest.layers) this.#take(from, digest);
      const layers = manifest.layers.map((descriptor, at) => ({ descriptor, diffId: rootfs.diff_ids[at] }));
      return { layers, config };
    }
    return null;
  }

  #take(from, digest) {
    const [, hex] = digest.split(":");
    const bytes = readFileSync(join(from, "blobs", "sha256", hex));
    if (createHash("sha256").update(bytes).digest("hex") !== hex) throw new Error(`blob ${digest} is damaged`);
    if (!existsSync(this.#blob(hex))) writeFileSync(this.#blob(hex), bytes);
  }
}
