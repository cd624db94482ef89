/** Addresses of the room Access, one for each of its lists. */
import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { frameRoute } from '../../shell/root.js';

const root = createRoute({
  getParentRoute: () => frameRoute,
  path: 'access',
  component: lazyRouteComponent(() => import('./Access.js'), 'Access'),
});

const index = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/access/roles', replace: true });
  },
});

const roles = createRoute({
  getParentRoute: () => root,
  path: 'roles',
  component: lazyRouteComponent(() => import('./Roles.js'), 'Roles'),
});

const users = createRoute({
  getParentRoute: () => root,
  path: 'users',
  component: lazyRouteComponent(() => import('./Users.js'), 'Users'),
});

const tokens = createRoute({
  getParentRoute: () => root,
  path: 'tokens',
  component: lazyRouteComponent(() => import('./Tokens.js'), 'Tokens'),
});

const administrators = createRoute({
  getParentRoute: () => root,
  path: 'administrators',
  component: lazyRouteComponent(() => import('./Administrators.js'), 'Administrators'),
});

export const accessRoute = root.addChildren([index, roles, users, tokens, administrators]);
