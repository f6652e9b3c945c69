import { PartnerService } from "@muster/proto/muster/tenancy/v1/partner_pb";
import { register } from "@muster/rpc";
import { runService } from "@muster/service";
import { migrations, settings, version } from "./config.ts";
import { partnerService } from "./rpc/partner.ts";

await runService({
  name: "tenancy",
  version,
  settings,
  migrations,
  async start({ db }) {
    return [register(PartnerService, partnerService({ db, now: () => new Date() }))];
  },
});
