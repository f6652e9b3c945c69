const isOfOthers = ([path, { link }]) => /(^|\/)node_modules\//.test(path) && !link;

/**
 * Whether npm's own record of what it installed has each package of a lock file, and no other: that a lock file names
 * another version of our own packages needs no installation. Optional packages are those of a platform.
 *
 * @param {{ packages: Record<string, object> }} lock package-lock.json
 * @param {{ packages: Record<string, object> }} record node_modules/.package-lock.json
 */
export function isInstalled(lock, record) {
  const wanted = Object.entries(lock.packages).filter(isOfOthers);
  const isAsWanted = ([path, { version, integrity, optional }]) => {
    const found = record.packages[path];
    return found === undefined ? optional === true : found.version === version && found.integrity === integrity;
  };
  return (
    wanted.every(isAsWanted) &&
    Object.entries(record.packages)
      .filter(isOfOthers)
      .every(([path]) => lock.packages[path])
  );
}
