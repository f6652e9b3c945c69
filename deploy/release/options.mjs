import { parseArgs } from "node:util";
import { publicScope } from "./npm/scope.mjs";
import { Refusal } from "./refusal.mjs";

export const usage = `Usage: npm run release -- VERSION [options]
       npm run release -- verify FOLDER [--key FILE]

  --unpublished     a try: VERSION need not be the checkout's, nor have a section in CHANGELOG.md (Unreleased is taken)
  --scope SCOPE     scope of the npm packages (@muster-fleet)
  --registry NAME   where the chart finds images, NAME/SERVICE@DIGEST (localhost/muster)
  --postgres IMAGE  PostgreSQL 18 of compose.yaml, NAME@sha256:DIGEST; a release to publish needs it
  --source URL      where the sources are public: named by chart, packages and images (nowhere)
  --agent-root-key KEY
                    verifier key of manifests that is built into agents; repeatable
  --commit COMMIT   another commit than the checkout's, with --unpublished: of one older than this program images and chart
  --base IMAGE      another base of the images, from a registry: NAME@sha256:DIGEST
  --mirror URL      another mirror of Debian; repeatable
  --only PART       that part alone, with --unpublished; repeatable
  --out FOLDER      folder of the version's folder (dist/release)

verify compares each file of a release with SHA256SUMS and, with a public key of minisign, the signature.
`;

/** Semantic Versioning 2.0.0 without build metadata, which neither npm nor tags of images keep. */
const semver =
  /^(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}(-(0|[1-9]\d*|\d*[A-Za-z-][\dA-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][\dA-Za-z-]*))*)?$/;
const scopeForm = /^@[a-z\d][a-z\d._-]*$/;
const pinnedForm = /^[^@\s]+@sha256:[\da-f]{64}$/;

const options = {
  unpublished: { type: "boolean", default: false },
  scope: { type: "string", default: publicScope },
  registry: { type: "string", default: "localhost/muster" },
  source: { type: "string" },
  commit: { type: "string" },
  "agent-root-key": { type: "string", multiple: true, default: [] },
  base: { type: "string" },
  postgres: { type: "string" },
  mirror: { type: "string", multiple: true, default: [] },
  only: { type: "string", multiple: true, default: [] },
  out: { type: "string" },
};

function parsed(args) {
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw new Refusal("usage", `${error.message}\n\n${usage}`);
  }
}

/** Options of a release. Throws a refusal that names the first one that is wrong. */
export function optionsOf(args, partNames) {
  const { values, positionals } = parsed(args);
  const [version = "", ...more] = positionals;
  if (version === "" || more.length > 0) throw new Refusal("usage", usage);
  if (!semver.test(version))
    throw new Refusal("usage", `${version} is no semantic version, such as 1.4.0 or 1.4.0-rc.1.`);
  if (!scopeForm.test(values.scope)) throw new Refusal("usage", `${values.scope} is no npm scope, such as @acme.`);
  for (const name of ["base", "postgres"]) {
    if (values[name] !== undefined && !pinnedForm.test(values[name])) {
      throw new Refusal("usage", `--${name} ${values[name]} names no digest: NAME@sha256:DIGEST.`);
    }
  }
  if (values.postgres === undefined && !values.unpublished) {
    throw new Refusal("usage", "a release to publish needs --postgres NAME@sha256:DIGEST, the image of compose.yaml.");
  }
  if (values.source !== undefined && !/^https:\/\/[^\s/]+\//.test(values.source)) {
    throw new Refusal("usage", `--source ${values.source} is no https URL.`);
  }
  if (values.commit !== undefined && !values.unpublished) throw new Refusal("usage", "--commit needs --unpublished.");
  const unknown = values.only.find((name) => !partNames.includes(name));
  if (unknown !== undefined) throw new Refusal("usage", `${unknown} is no part: one of ${partNames.join(", ")}.`);
  if (values.only.length > 0 && !values.unpublished) throw new Refusal("usage", "--only needs --unpublished.");
  return { version, ...values, agentRootKey: values["agent-root-key"] };
}
