// Holds the icons of the console as the path data of SVG elements, in a square of 24.

/**
 * From Lucide (lucide-static 1.62.0). ISC License, Copyright (c) 2026 Lucide Icons and Contributors. Permission to use,
 * copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted, provided that the
 * above copyright notice and this permission notice appear in all copies. Circles and rectangles are written as paths here, numbers have one decimal, and the hourglass has straight lines.
 * `ellipsis` and `radio` have parts of Feather, MIT License, Copyright (c) 2013-present Cole Bemis.
 */
export const icons = {
  mic: 'M12 19v3M19 10v2a7 7 0 0 1-14 0v-2M12 2a3 3 0 0 1 3 3v7a3 3 0 0 1-6 0V5a3 3 0 0 1 3-3z',
  'mic-off':
    'M12 19v3M15 9.3V5a3 3 0 0 0-5.7-1.3M16.9 16.9A7 7 0 0 1 5 12v-2M18.9 13.2A7 7 0 0 0 19 12v-2M2 2l20 20M9 9v3a3 3 0 0 0 5.1 2.1',
  ellipsis:
    'M11 12a1 1 0 1 0 2 0 1 1 0 1 0-2 0M18 12a1 1 0 1 0 2 0 1 1 0 1 0-2 0M4 12a1 1 0 1 0 2 0 1 1 0 1 0-2 0',
  hourglass: 'M5 22h14M5 2h14M17 22v-4l-5-6-5 6v4M7 2v4l5 6 5-6V2',
  radio:
    'M16.2 7.8a6 6 0 0 1 0 8.5M19.1 4.9a10 10 0 0 1 0 14.1M4.9 19.1a10 10 0 0 1 0-14.1M7.8 16.2a6 6 0 0 1 0-8.5M10 12a2 2 0 1 0 4 0 2 2 0 1 0-4 0',
} as const;

export type IconName = keyof typeof icons;
