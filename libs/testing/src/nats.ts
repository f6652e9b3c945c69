export { type NatsService, natsServices, type TestNats, testNats } from "@muster/bus/testing";
