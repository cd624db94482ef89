/** A receiver of webhooks: an HTTP server that remembers what it was sent. */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedHook {
  readonly headers: Readonly<http.IncomingHttpHeaders>;
  readonly text: string;
  /** The parsed body. */
  readonly body: { readonly event: string; readonly [key: string]: unknown };
  readonly url: string;
}

/** Answers a request; 200 by default. */
export type AnswerHook = (response: http.ServerResponse, hook: ReceivedHook, place: number) => void | Promise<void>;

export interface Receiver {
  readonly url: string;
  readonly hooks: readonly ReceivedHook[];
  /** Resolves once this many have arrived in all. */
  received(count: number): Promise<readonly ReceivedHook[]>;
  answer(how: AnswerHook): void;
  close(): Promise<void>;
}

export const newReceiver = async (): Promise<Receiver> => {
  const hooks: ReceivedHook[] = [];
  let how: AnswerHook = (response) => void response.end('ok');
  let waiting: { readonly count: number; resolve(): void }[] = [];
  const server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const hook = { headers: request.headers, text, body: JSON.parse(text) as ReceivedHook['body'], url: request.url! };
    hooks.push(hook);
    await how(response, hook, hooks.length - 1);
    const ready = waiting.filter((it) => it.count <= hooks.length);
    waiting = waiting.filter((it) => it.count > hooks.length);
    for (const it of ready) it.resolve();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    hooks,
    received: async (count) => {
      if (hooks.length < count) await new Promise<void>((resolve) => waiting.push({ count, resolve }));
      return hooks;
    },
    answer: (given) => {
      how = given;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};
