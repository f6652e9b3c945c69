import { runService } from "@muster/service";
import { migrations, settings, version } from "./config.ts";

await runService({
  name: "device-logs",
  version,
  settings,
  migrations,
  tenantCopy: {},
  async start() {
    return [];
  },
});
