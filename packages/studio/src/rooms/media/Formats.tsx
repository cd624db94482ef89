/** The URLs of a file: its own, and those of its smaller copies. */
import { Anchor, Button, CopyButton, Group, Table, Text } from '@mantine/core';
import { ByteSize } from '../../parts/ByteSize.js';
import { addressOf, bytesOf, formatsOf, type MediaFile } from '../../parts/media/files.js';
import { Section } from '../../parts/Section.js';
import { serverUrl } from '../../server/address.js';
import { words } from '../../words/index.js';

const { file: texts, dimensions } = words.media;

export const Formats = ({ file }: { readonly file: MediaFile }) => {
  const original = {
    name: texts.original,
    url: file.url,
    width: file.width,
    height: file.height,
    bytes: bytesOf(file.size),
  };
  const rows = [original, ...formatsOf(file)];
  return (
    <Section title={texts.formats}>
      <Table.ScrollContainer type="native" minWidth={400} tabIndex={0} role="group" aria-label={texts.formats}>
        <Table verticalSpacing={4} aria-label={texts.formats}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{texts.format}</Table.Th>
              <Table.Th ta="right">{texts.dimensions}</Table.Th>
              <Table.Th ta="right">{texts.size}</Table.Th>
              <Table.Th ta="right">{texts.address}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map(({ name, url, width, height, bytes }) => (
              <Table.Tr key={name}>
                <Table.Td>{name}</Table.Td>
                <Table.Td ta="right">{width === null || height === null ? '–' : dimensions(width, height)}</Table.Td>
                <Table.Td ta="right">
                  <ByteSize bytes={bytes} />
                </Table.Td>
                <Table.Td>
                  <Group gap="xs" justify="flex-end" wrap="nowrap">
                    <Copy url={addressOf(url, serverUrl)} name={name} />
                    <Anchor
                      size="sm"
                      href={addressOf(url, serverUrl)}
                      target="_blank"
                      rel="noreferrer"
                      aria-label={texts.openOf(name)}
                    >
                      {texts.open}
                    </Anchor>
                  </Group>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {rows.length === 1 && (
        <Text size="sm" c="dimmed">
          {texts.formatsNone}
        </Text>
      )}
    </Section>
  );
};

const Copy = ({ url, name }: { readonly url: string; readonly name: string }) => (
  <CopyButton value={url}>
    {({ copied, copy }) => (
      <Button size="compact-xs" variant="default" onClick={copy} aria-label={texts.copyOf(name)}>
        {copied ? texts.copied : texts.copy}
      </Button>
    )}
  </CopyButton>
);
