import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "@jest/globals";
import { until } from "@muster/testing";
import type { Frame, Page } from "playwright-core";
import { asDatabaseOwner } from "../../support/owner-rows.ts";
import { startReceiver } from "../../support/receiver.ts";
import { tenantWithAdmins } from "../../support/tenant-with-admins.ts";
import { inChromium, type Visitor } from "./visitor.ts";

type By = Awaited<ReturnType<typeof tenantWithAdmins>>["admin"]["api"];

async function newLink(by: By, change: object = {}): Promise<{ id: string; url: string }> {
  const { status, body } = await by.call("POST", "/webhooks/portal-links", { name: "Acme developers", ...change });
  if (status !== 201) throw new Error(`POST /webhooks/portal-links answered ${status}: ${JSON.stringify(body)}`);
  return { id: String(body.id), url: String(body.portalUrl) };
}

/** An application that embeds a portal and, asked for it, opens a new link. */
async function startApplication(
  linkOf: (origin: string) => Promise<string>,
): Promise<{ origin: string; server: Server }> {
  const server = createServer((request, response) => {
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    linkOf(origin).then(
      (url) => {
        if (request.url === "/link") return response.end(url);
        response.setHeader("content-type", "text/html");
        response.end(`<!doctype html><title>Application</title><iframe title="Webhooks" width="900" height="700" src="${url}"></iframe>
          <script>
            const frame = document.querySelector("iframe");
            addEventListener("message", async ({ source, data }) => {
              if (source !== frame.contentWindow || data?.type !== "muster.portal.refresh") return;
              const url = await (await fetch("/link")).text();
              source.postMessage({ type: "muster.portal.open", url }, new URL(url).origin);
            });
          </script>`);
      },
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

const frameOf = (page: Page): Frame => {
  const [, frame] = page.frames();
  if (!frame) throw new Error("the page has no frame");
  return frame;
};
const heading = (within: Page | Frame, name: string) => within.getByRole("heading", { name, level: 1 }).waitFor();
/** What is stored of the page, which must be nothing. */
const stored = (within: Page | Frame) =>
  within.evaluate("[document.cookie, localStorage.length, sessionStorage.length, location.hash]");

async function withWebhook({ cluster }: Visitor, change: object = {}) {
  const tenant = await tenantWithAdmins(cluster);
  const receiver = await startReceiver(cluster);
  const by = tenant.admin.api;
  const wanted = { name: "Tickets", url: receiver.url, events: ["*"], secret: "s3cret of the receiver", ...change };
  const { body } = await by.call("POST", "/webhooks", wanted);
  await by.call("POST", `/webhooks/${body.id}/test`);
  return { by, receiver, id: String(body.id) };
}

inChromium("the webhook portal", (visit) => {
  visit("works in an application of an allowed origin, asks it after a reload, and stores nothing", async (visitor) => {
    const { page } = visitor;
    const { by, receiver } = await withWebhook(visitor);
    const application = await startApplication(async (origin) => (await newLink(by, { embedOrigins: [origin] })).url);
    try {
      await page.goto(application.origin);
      await heading(frameOf(page), "Webhooks");
      await frameOf(page).getByRole("button", { name: "Tickets" }).click();
      await heading(frameOf(page), "Tickets");
      await frameOf(page).getByRole("button", { name: "webhook.test" }).first().click();
      await frameOf(page).getByRole("heading", { name: "Attempts" }).waitFor();
      expect(await stored(frameOf(page))).toEqual(["", 0, 0, ""]);
      await frameOf(page).evaluate("location.reload()");
      await heading(frameOf(page), "Webhooks");
      await frameOf(page).getByRole("button", { name: "Tickets" }).waitFor();
    } finally {
      application.server.close();
      await receiver.close();
    }
  });

  visit("is refused in an application of another origin", async (visitor) => {
    const { by, receiver } = await withWebhook(visitor);
    const outsider = await startApplication(
      async () => (await newLink(by, { embedOrigins: ["https://app.example.com"] })).url,
    );
    // In a context of its own: the browser reports the refusal as an error.
    const context = await visitor.context.browser()?.newContext();
    try {
      const page = (await context?.newPage()) as Page;
      const refused = page.waitForEvent("console", (message) => message.type() === "error");
      await page.goto(outsider.origin);
      expect((await refused).text()).toContain("frame-ancestors");
      expect(await frameOf(page).getByRole("heading").count()).toBe(0);
    } finally {
      await context?.close();
      outsider.server.close();
      await receiver.close();
    }
  });

  visit("opens a link once, and ends with a sentence when it is revoked", async (visitor) => {
    const { page } = visitor;
    const { by, receiver } = await withWebhook(visitor);
    try {
      const refreshUrl = "https://app.example.com/webhooks";
      const { id, url } = await newLink(by, { refreshUrl });
      await page.goto(url);
      await page.getByRole("button", { name: "Tickets" }).waitFor();
      expect(page.url()).not.toContain("code");
      const again = await visitor.context.newPage();
      await again.goto(url);
      await again.getByText("This link was used already, has expired or was revoked.").waitFor();
      expect(await again.getByRole("link").getAttribute("href")).toBe(refreshUrl);
      await again.close();
      await by.call("DELETE", `/webhooks/portal-links/${id}`);
      await page.getByText("This session has ended: its link has expired or was revoked.").waitFor();
      await visitor.expectAccessible();
    } finally {
      await receiver.close();
    }
  });

  visit("offers what the link allows, and a read-only one nothing that changes something", async (visitor) => {
    const { page } = visitor;
    const { by, receiver } = await withWebhook(visitor);
    // Without those that lead to an event or its type.
    const buttons = async () =>
      (await page.getByRole("button").allTextContents()).filter((name) => !name.includes("."));
    try {
      await page.goto((await newLink(by, { readOnly: true })).url);
      await page.getByRole("button", { name: "Tickets" }).waitFor();
      expect(await buttons()).toEqual(["Tickets"]);
      await visitor.expectAccessibleAtBothWidths();
      await page.getByRole("button", { name: "Tickets" }).click();
      await page.getByRole("button", { name: "webhook.test" }).waitFor();
      expect(await buttons()).toEqual(["Back"]);
      await visitor.expectAccessible();

      const capabilities = ["manage_webhooks", "rotate_secrets", "reveal_secrets", "resend_deliveries"];
      await page.goto("about:blank");
      await page.goto((await newLink(by, { capabilities })).url);
      await page.getByRole("button", { name: "New webhook" }).click();
      await page.getByLabel("Name").fill("Second");
      await page.getByLabel("Address").fill(receiver.url);
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByText("whsec_").waitFor();
      await page.getByRole("button", { name: "Close" }).click();
      await page.getByRole("button", { name: "Tickets" }).click();
      await page.getByRole("button", { name: "Reveal secret" }).click();
      await page.getByText("s3cret of the receiver").waitFor();
      await visitor.expectAccessible();
      await page.getByRole("button", { name: "Close" }).click();
      await page.getByRole("button", { name: "Pause" }).click();
      await page.getByText("Paused: deliveries wait.").waitFor();
      await page.getByRole("button", { name: "Rotate secret" }).click();
      await page.getByRole("button", { name: "Rotate", exact: true }).click();
      await page.getByText("whsec_").waitFor();
      await page.getByRole("button", { name: "Close" }).click();
      await page.getByRole("button", { name: "Delete" }).click();
      await page.getByRole("dialog").getByRole("textbox").fill("Tickets");
      await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
      await heading(page, "Webhooks");
      await visitor.gone(page.getByRole("button", { name: "Tickets" }));
      await visitor.expectAccessible();
    } finally {
      await receiver.close();
    }
  });

  visit("shows times in short, with the exact ones behind them, and what is not signed", async (visitor) => {
    const { page } = visitor;
    const { by, receiver, id } = await withWebhook(visitor, { secret: "" });
    try {
      await until("that the test event's delivery is recorded", async () => {
        const { body } = await by.call("GET", `/webhooks/${id}/deliveries?status=delivered`);
        return (body.data as unknown[]).length === 1;
      });
      const failing = "failed_attempts = 40, failing_since = now() - interval '2 hours'";
      const state = `UPDATE webhook_dispatcher.webhook_endpoint_state SET ${failing} WHERE webhook_id = $1`;
      await asDatabaseOwner(visitor.cluster, state, [id]);
      await page.goto((await newLink(by, { readOnly: true })).url);
      await page.getByRole("button", { name: "Tickets" }).click();
      await page.getByText(/40 attempts in a row failed in the last 2 hours/).waitFor();
      await page.getByText(/^Deliveries are not signed/).waitFor();
      expect(await page.locator("main").textContent()).not.toMatch(/\d{4}-\d\d-\d\dT/);
      await page.getByRole("time").first().hover();
      await page.getByText(/\d{4}-\d\d-\d\dT[\d:.]+Z$/).waitFor();
      await visitor.expectAccessibleAtBothWidths();
    } finally {
      await receiver.close();
    }
  });

  visit("shows dead letters, which a session that may resend delivers again", async (visitor) => {
    const { page } = visitor;
    const { by, receiver } = await withWebhook(visitor, { retrySchedule: { delaysSeconds: [1] } });
    const attempts = () => receiver.received.filter(({ body }) => body.includes("device.online")).length;
    try {
      await until("the test event", () => receiver.received.length === 1);
      receiver.answer((_received, response) => void response.writeHead(500).end());
      expect((await by.call("POST", "/events", { type: "device.online", data: {} })).status).toBe(202);
      await page.goto((await newLink(by)).url);
      const letters = page.getByRole("heading", { name: "Dead letters" });
      await letters.waitFor();
      expect(await page.getByRole("button", { name: "Deliver again" }).count()).toBe(0);
      expect(attempts()).toBe(2);
      receiver.answer((_received, response) => void response.end("ok"));
      await page.goto("about:blank");
      await page.goto((await newLink(by, { capabilities: ["resend_deliveries"] })).url);
      await letters.waitFor();
      await visitor.expectAccessibleAtBothWidths();
      await page.getByRole("button", { name: "Deliver again" }).click();
      await page.getByText("Queued again.").waitFor();
      await until("the delivery", () => attempts() === 3);
      await page.getByText("queued again", { exact: true }).waitFor();
    } finally {
      await receiver.close();
    }
  });

  visit("has a catalogue of own and the platform's event types with schema and example", async (visitor) => {
    const { page } = visitor;
    const { by, receiver } = await withWebhook(visitor);
    try {
      const type = "custom.order_shipped";
      const schema = { type: "object", required: ["number"] };
      const own = { type, description: "An order has left.", version: "2", schema, example: { number: 7 } };
      expect((await by.call("POST", "/webhooks/event-types", own)).status).toBe(201);
      await page.goto((await newLink(by, { readOnly: true })).url);
      await page.getByRole("button", { name: type }).click();
      await heading(page, type);
      await page.getByRole("region", { name: "Schema" }).getByText("required").waitFor();
      await page.getByRole("region", { name: "Example" }).getByText('"number": 7').waitFor();
      await visitor.expectAccessibleAtBothWidths();
      await page.getByRole("button", { name: "Back" }).click();
      await page.getByRole("button", { name: "device.online" }).click();
      await page.getByRole("region", { name: "Example" }).getByText("web-01").waitFor();
    } finally {
      await receiver.close();
    }
  });
});
