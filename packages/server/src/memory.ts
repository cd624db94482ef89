/**
 * Gives the memory of bytes back at once, which no one may read any more. It is outside of V8's heap, and the garbage collector,
 * which does not see how large it is, would let dozens of responses wait for each other.
 */
export const freeBytes = ({ buffer, byteLength }: Uint8Array): void => {
  // small buffers share Node's pool
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
};
