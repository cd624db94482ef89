/** A mail server that accepts everything, and remembers each line that it was sent. */
import net from 'node:net';

export interface MailServer {
  readonly port: number;
  readonly heard: string[];
  readonly server: net.Server;
}

export const newMailServer = async (): Promise<MailServer> => {
  const heard: string[] = [];
  const server = net.createServer((socket) => {
    let inData = false;
    socket.write('220 test\r\n');
    socket.on('data', (chunk) => {
      for (const line of chunk.toString().split('\r\n')) {
        heard.push(line);
        if (inData) {
          if (line !== '.') continue;
          inData = false;
          socket.write('250 kept\r\n');
        } else if (/^EHLO/i.test(line)) socket.write('250 test\r\n');
        else if (/^DATA/i.test(line)) {
          inData = true;
          socket.write('354 go on\r\n');
        } else if (/^QUIT/i.test(line)) socket.end('221 bye\r\n');
        else if (line !== '') socket.write('250 fine\r\n');
      }
    });
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as net.AddressInfo).port, heard, server };
};
