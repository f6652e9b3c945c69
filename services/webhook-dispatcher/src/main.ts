import { runService } from "@muster/service";
import { migrations, settings, version } from "./config.ts";

await runService({
  name: "webhook-dispatcher",
  version,
  settings,
  migrations,
  tenantCopy: {},
  async start() {
    return [];
  },
});
