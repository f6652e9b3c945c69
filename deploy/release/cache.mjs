import { homedir } from "node:os";
import { join } from "node:path";

/** What is fetched once per machine; each file is compared with its pinned digest when it is fetched. */
export const cache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "muster-release");
