import { describe, expect, it } from "@jest/globals";
import { eventTypes, serviceNames } from "@muster/kit";
import { mayEmit } from "./emitters.ts";

const emittersOf = (type: string) => serviceNames.filter((service) => mayEmit(service, type));

describe("emitters of events", () => {
  it.each([
    ["device.online", ["tenancy", "webhook-dispatcher"]],
    ["user.login", ["identity", "webhook-dispatcher"]],
    ["session.logout", ["identity", "webhook-dispatcher"]],
    ["alert.triggered", ["webhook-dispatcher"]],
    ["remote.session.started", ["webhook-dispatcher"]],
  ])("for %s are %j", (type, services) => {
    expect(emittersOf(type)).toEqual(services);
  });

  it("exist for every type of the catalogue; gateways and unknown services are none", () => {
    expect(eventTypes.filter((type) => emittersOf(type).length === 0)).toEqual([]);
    for (const name of ["gateway", "stranger", "", "__proto__", "toString"]) {
      expect({ name, may: mayEmit(name, "device.online") }).toEqual({ name, may: false });
    }
  });
});
