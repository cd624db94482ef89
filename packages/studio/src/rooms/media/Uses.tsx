/** Entries that show a file. */
import { List, Text } from '@mantine/core';
import { entryName } from '../../model/entry-name.js';
import { nameOf, typeOf } from '../../model/model.js';
import { AnchorLink } from '../../parts/links.js';
import type { Use, Uses } from '../../parts/media/library.js';
import { useModel } from '../../server/queries.js';
import { words } from '../../words/index.js';

const texts = words.media.file;

export const UsesList = ({
  uses: { uses, total },
  most = Number.POSITIVE_INFINITY,
}: {
  readonly uses: Uses;
  /** How many are listed; the others are counted. */
  readonly most?: number;
}) => {
  const shown = uses.slice(0, most);
  return (
    <>
      <List size="sm">
        {shown.map((it) => (
          <List.Item key={`${it.type} ${it.id} ${it.attribute}`}>
            <UseLine use={it} />
          </List.Item>
        ))}
      </List>
      {total > shown.length && (
        <Text size="sm" c="dimmed">
          {texts.usesMore(shown.length, total)}
        </Text>
      )}
    </>
  );
};

const UseLine = ({ use: { type: uid, id, attribute, title } }: { readonly use: Use }) => {
  const type = typeOf(useModel(), uid);
  const name = entryName(type, id, title);
  const address = type?.path && (type.kind === 'single' ? nameOf(type) : `${nameOf(type)}/${id}`);
  return (
    <>
      {address ? (
        <AnchorLink to={`/content/${address}` as string} underline="always">
          {name}
        </AnchorLink>
      ) : (
        name
      )}{' '}
      <Text span size="sm" c="dimmed">
        {texts.use(type?.displayName ?? uid, attribute)}
      </Text>
    </>
  );
};
