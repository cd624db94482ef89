/** Requests that say how much of their body has left: `fetch` cannot tell. */

/** Bytes of the body, as it travels. */
export interface Progress {
  readonly sent: number;
  readonly total: number;
}

export interface SentRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: XMLHttpRequestBodyInit;
  readonly signal?: AbortSignal;
}

/** What `fetch` does, by `XMLHttpRequest`: rejects like it if no response came, or if the signal aborts. */
export const fetchWithProgress = (
  url: string,
  { method, headers, body, signal }: SentRequest,
  onProgress: (progress: Progress) => void,
): Promise<Response> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const request = new XMLHttpRequest();
    const abort = (): void => request.abort();
    request.open(method, url);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.responseType = 'text';
    request.upload.onprogress = ({ loaded, total }) => onProgress({ sent: loaded, total });
    request.onload = () => {
      // a response of these statuses has no body
      const text = request.status === 204 || request.status === 304 ? null : request.responseText;
      resolve(new Response(text, { status: request.status, headers: headersOf(request.getAllResponseHeaders()) }));
    };
    request.onerror = () => reject(new TypeError(`${method} ${url}: no response`));
    request.onabort = () => reject(signal?.reason ?? new DOMException('The request was aborted', 'AbortError'));
    request.onloadend = () => signal?.removeEventListener('abort', abort);
    signal?.addEventListener('abort', abort, { once: true });
    request.send(body ?? null);
  });

const headersOf = (lines: string): Headers => {
  const headers = new Headers();
  for (const line of lines.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return headers;
};
