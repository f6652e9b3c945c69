import { publicAddresses } from "@muster/kit";
import { createHealthProbe } from "../clients/health.ts";
import { createHeartbeats } from "../clients/heartbeats.ts";
import { ownCall, rethrow } from "../clients/own-calls.ts";
import type { Services } from "../clients/services.ts";
import type { SharedSettings } from "../clients/shared-settings.ts";
import type { UpdateAnswers } from "../clients/update-answers.ts";
import type { Config } from "../config.ts";
import { openApiDocument } from "../openapi/document.ts";
import type { Deps } from "../route/deps.ts";
import { Rendered } from "../route/reply.ts";
import type { Route } from "../route/route.ts";
import type { Admission } from "./admission.ts";

/** What the handlers of the routes work with. */
export function createDeps(options: {
  config: Config;
  version: string;
  routes: readonly Route[];
  services: Services;
  admission: Pick<Admission, "sessions" | "keys">;
  updates: UpdateAnswers;
  changes: Deps["changes"];
  shared: Pick<SharedSettings, "differences">;
}): Deps {
  const { config, version, routes, services, admission, updates, changes, shared } = options;
  let openApi: Rendered | null = null;
  return {
    version,
    services,
    sessions: admission.sessions,
    ...publicAddresses(config),
    heartbeats: createHeartbeats({ presence: services.presence, updates, call: ownCall, rethrow }),
    updates,
    changes,
    health: createHealthProbe({ probes: services.probes, version, call: ownCall }),
    differentSettings: () => shared.differences(),
    jwksText: async () => (await admission.keys.current()).text,
    openApi() {
      openApi ??= new Rendered(JSON.stringify(openApiDocument(routes, { version })));
      return openApi;
    },
  };
}
