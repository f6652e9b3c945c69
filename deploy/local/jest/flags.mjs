/**
 * Flags of the Node that runs jest, and of its workers. With V8's own 16 MB for young objects much of a suite is copied
 * to the old generation before it is garbage: 15 % of a worker's processor time.
 */
export const jestFlags = ["--experimental-vm-modules", "--no-warnings", "--max-semi-space-size=64"];
