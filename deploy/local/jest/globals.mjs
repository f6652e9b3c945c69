// What `@jest/globals` is to the tests: native-runner.mjs puts each test file's own functions here before it imports
// the file.
import { ModernFakeTimers } from "@jest/fake-timers";
import { ModuleMocker } from "jest-mock";

const mocker = new ModuleMocker(globalThis);
const timers = new ModernFakeTimers({ config: { fakeTimers: {}, rootDir: "/" }, global: globalThis });
let current;

/** Called by the runner: helpers that several test files import see the functions of the file that runs. */
export const use = (functions) => {
  current = functions;
};

/** Called by the runner after a file: what it spied on is again what it was. */
export const restore = () => {
  mocker.restoreAllMocks();
  timers.useRealTimers();
};

/** Calls the function of that name, or of its member (`it.each`), of the test file that runs now. */
const delegate = (path) =>
  new Proxy(() => undefined, {
    apply: (_target, _this, args) => path(current)(...args),
    get: (_target, name) => {
      const member = path(current)[name];
      return typeof member === "function" ? delegate((functions) => path(functions)[name]) : member;
    },
  });

const own = (name) => delegate((functions) => functions[name]);
export const [afterAll, afterEach, beforeAll, beforeEach] = ["afterAll", "afterEach", "beforeAll", "beforeEach"].map(
  own,
);
export const [describe, it, test, expect] = ["describe", "it", "test", "expect"].map(own);
export const jest = {
  fn: mocker.fn.bind(mocker),
  spyOn: mocker.spyOn.bind(mocker),
  restoreAllMocks: mocker.restoreAllMocks.bind(mocker),
  useFakeTimers: timers.useFakeTimers.bind(timers),
  useRealTimers: timers.useRealTimers.bind(timers),
  advanceTimersByTime: timers.advanceTimersByTime.bind(timers),
};
