/**
 * A bill of materials of npm (CycloneDX) without what differs from run to run: serial number, time, and the name of the
 * folder that npm was started in.
 *
 * @param {string} text of `npm sbom`
 * @param {string} name of what is described
 */
export function settledSbom(text, name) {
  const { serialNumber, ...sbom } = JSON.parse(text);
  const { timestamp, ...metadata } = sbom.metadata;
  return { ...sbom, metadata: { ...metadata, component: { ...metadata.component, name } } };
}
