/** In MUSTER_E2E_DIR: a line for whatever a suite left, by environment.mjs and global-teardown.mjs. */
export const leftFile = "left.txt";
