// TypeBox and its compiler. `npm run bundle` makes a file of this module and the 680 that it loads: a quarter of what a
// start takes of CPU, for as long as they are read one by one.
export { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox';
export { Compile } from 'typebox/compile';
