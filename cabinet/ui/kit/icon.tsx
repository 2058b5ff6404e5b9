const paths = {
  overview: 'M4 13h6V4H4v9Zm0 7h6v-4H4v4Zm10 0h6v-9h-6v9Zm0-16v4h6V4h-6Z',
  key: 'M15 9.5a.5.5 0 1 0 0-1 .5.5 0 0 0 0 1ZM15 4a5 5 0 0 0-4.8 6.4L4 16.6V20h3.4v-2.2h2.2v-2.2l2-2A5 5 0 1 0 15 4Z',
  usage: 'M4 20V4m0 16h16M8.5 16v-4m4 4V8m4 8v-6',
  requests: 'M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01',
  billing:
    'M4 7.5h13.5A2.5 2.5 0 0 1 20 10v7a2.5 2.5 0 0 1-2.5 2.5h-11A2.5 2.5 0 0 1 4 17V7.5Zm0 0A2.5 2.5 0 0 1 6.5 5H16m0 8.5h.01',
  playground: 'M5 5h14v10.5H12L7.5 19v-3.5H5V5Zm4.5 5h5',
  settings: 'M5 7h8m4 0h2M5 17h2m4 0h8M15 9a2 2 0 1 0 0-4 2 2 0 0 0 0 4Zm-6 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z',
  models: 'M12 3.5 20 8v8l-8 4.5L4 16V8l8-4.5Zm0 0v0M4 8l8 4.5L20 8m-8 4.5v8',
  person: 'M12 12a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7Zm-7 7.5c.8-3.2 3.600-4.500 7-4.500s6.200 1.300 7 4.500',
  copy: 'M9 9h10.500v10.500H9V9Zm-4.500 6V4.500H15',
  check: 'm5 12.500 4.500 4.500L19 7.500',
  close: 'M6 6l12 12M18 6 6 18',
  warning: 'M12 4 3 19.500h18L12 4Zm0 6v4.500m0 2.500v.01',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm0-13v2m0 14v2M3 12h2m14 0h2M5.600 5.600 7 7m10 10 1.400 1.400m0-12.800L17 7M7 17l-1.400 1.400',
  moon: 'M20 14.500A8.200 8.200 0 0 1 9.500 4 8.200 8.200 0 1 0 20 14.500Z',
  device: 'M4 5h16v11H4V5Zm5 14.500h6',
  down: 'm6 9.500 6 6 6-6',
  right: 'm9.500 6 6 6-6 6',
  plus: 'M12 5v14M5 12h14',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  external: 'M13 5h6v6m0-6-8.500 8.500M10 6.500H5V19h12.500v-5',
  offline:
    'M4 4l16 16M8.500 15.500a5 5 0 0 1 7 0M5 12a10 10 0 0 1 4-2.500m5.500.2A10 10 0 0 1 19 12M12 19h.01',
} as const

export type IconName = keyof typeof paths

/** A sign beside words that say the same: it has no name of its own. */
export function Icon({ name, size = 20 }: { readonly name: IconName; readonly size?: 16 | 20 | 24 }) {
  return (
    <svg
      aria-hidden="true"
      className="shrink-0"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.75}
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={paths[name]} />
    </svg>
  )
}
