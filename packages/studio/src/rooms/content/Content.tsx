/** The room: its types beside what is open. */
import { NativeSelect, NavLink, Stack, Text } from '@mantine/core';
import { Link, Outlet, useNavigate, useParams } from '@tanstack/react-router';
import { collectiveName } from '../../model/entry-name.js';
import { contentTypes, nameOf, type Type } from '../../model/model.js';
import { EmptyState } from '../../parts/EmptyState.js';
import { useModel } from '../../server/queries.js';
import { words } from '../../words/index.js';
import styles from './content.module.css';

const texts = words.content.types;

/** Those with something to see or to write. */
export const shownTypes = (types: readonly Type[]): readonly Type[] =>
  types.filter(({ may }) => may.find || may.findOne || may.create || may.update);

export const Content = () => {
  const model = useModel();
  const navigate = useNavigate();
  const { type: current } = useParams({ strict: false }) as { readonly type?: string };
  const types = shownTypes(contentTypes(model));
  const groups = (['collection', 'single'] as const).map((kind) => ({
    kind,
    types: types.filter((it) => it.kind === kind),
  }));
  if (types.length === 0) return <EmptyState level={1} title={texts.none} text={texts.noneHint} />;
  return (
    <div className={styles['room']}>
      <nav aria-label={texts.label} className={styles['side']}>
        {groups.map(
          ({ kind, types: own }) =>
            own.length > 0 && (
              <Stack key={kind} gap={2} mb="md">
                <Text size="xs" fw={600} c="dimmed" tt="uppercase">
                  {texts.kinds[kind]}
                </Text>
                {own.map((type) => (
                  <NavLink
                    key={type.uid}
                    component={Link}
                    {...({ to: `/content/${nameOf(type)}` } as object)}
                    label={collectiveName(type)}
                    active={nameOf(type) === current}
                    variant="light"
                  />
                ))}
              </Stack>
            ),
        )}
      </nav>
      <NativeSelect
        className={styles['narrow']}
        aria-label={texts.label}
        value={current ?? ''}
        onChange={({ currentTarget: { value } }) => void navigate({ to: `/content/${value}` as never })}
      >
        {current === undefined && <option value="">{texts.choose}</option>}
        {groups.map(({ kind, types: own }) => (
          <optgroup key={kind} label={texts.kinds[kind]}>
            {own.map((type) => (
              <option key={type.uid} value={nameOf(type)}>
                {collectiveName(type)}
              </option>
            ))}
          </optgroup>
        ))}
      </NativeSelect>
      <div className={styles['main']}>
        <Outlet />
      </div>
    </div>
  );
};
