import { createInbox, type Msg } from "nats";
import { assertConnected, type Connection } from "./connection.ts";
import type { Relay } from "./types.ts";

/** Status of the server's own reply when the subject of a request has no subscriber. */
const noResponders = 503;
/**
 * Where answers go, and nowhere else: a requester names the subject, and the server does not check that the requester
 * may publish there.
 */
const answersTo = "agent.answer";

/** Core NATS for one connection. */
export function createRelay(connection: Connection): Relay {
  const { nc } = connection;
  const waiting = new Set<() => void>();
  // A request whose connection was lost gets no reply: its inbox received nothing meanwhile.
  connection.onReconnect(() => {
    for (const lost of [...waiting]) lost();
  });
  const isNobody = ({ headers, data }: Msg) => data.length === 0 && headers?.code === noResponders;
  return {
    request(subject, body, on) {
      assertConnected(connection);
      const inbox = createInbox(answersTo);
      let stopped = false;
      const subscription = nc.subscribe(inbox, {
        callback(error, message) {
          if (stopped) return;
          if (error) return on.nobody(true);
          if (isNobody(message)) on.nobody(false);
          else on.answer(message.data);
        },
      });
      const lost = () => on.nobody(true);
      waiting.add(lost);
      nc.publish(subject, body, { reply: inbox });
      return {
        stop() {
          stopped = true;
          waiting.delete(lost);
          if (!nc.isClosed()) subscription.unsubscribe();
        },
      };
    },
    listen(subject, handler) {
      const subscription = nc.subscribe(subject, {
        callback(error, message) {
          // A refused subscription is reported by the connection.
          if (error) return;
          const canAnswer = message.reply?.startsWith(`${answersTo}.`) ?? false;
          const answer = (body: Uint8Array) => void (canAnswer && !nc.isClosed() && message.respond(body));
          handler(message.data, answer, message.subject);
        },
      });
      return {
        stop() {
          if (!nc.isClosed()) subscription.unsubscribe();
        },
      };
    },
    publish(subject, body) {
      if (!nc.isClosed()) nc.publish(subject, body);
    },
    flush: () => nc.flush(),
    onReconnect: (listener) => void connection.onReconnect(listener),
  };
}
