/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_plan's commands, and the --help of each. */
#include "tools/plan/coll_plan.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const struct plan_command plan_commands[] = {
    {"explain", plan_explain, "COLLECTIVE --shape SHAPE [SIZE]",
     "why a plan is chosen, and its steps, slices, roundings and traffic",
     "  coll_plan explain allreduce --shape 3,1,2 1M\n"
     "  coll_plan explain allgather --shape 4x96 64M --set HX_LANES=2\n"
     "  coll_plan explain allreduce --shape 2,2 --json | jq .plans[0].stages\n\n"
     "The output begins with the candidates, the predicted cost of each, and the reason why it is slower than the chosen plan. "
     "The chosen plan follows, with its slices and steps, and the bytes that each rank sends. For floating-point reductions "
     "the output also says how often the contribution of a rank is rounded. With --set HX_WIRE=bf16 it states how much a sum may differ from "
     "the exact one.\n\n"
     "--json writes one object:\n"
     "  hierax_plan    version of these keys: 1\n"
     "  the call       collective, dtype, root, bytes, shape, ranks, nodes,\n                 llc_bytes, ranks_per_core\n"
     "  constants      {node, network}: sources of the model's parameters, or\n                 null\n"
     "  the choice     chosen; by_table: true if HX_TABLE chose it; fallback: why\n                 the plan does not follow "
     "levels or settings, or null;\n                 candidates, as in cost --json\n"
     "  slices         {fine, coarse, fine_window, coarse_window}\n"
     "  roundings      null if nothing rounds\n"
     "  wire, error    format between nodes (HX_WIRE), and what a sum may err by, in\n                 parts of the "
     "largest numbers; null: exact\n"
     "  plans          one for each rank shown: {rank, lanes, blocks, stages,\n"
     "                 live_slot_bytes, plan_bytes, counts}\n"
     "  stages         level, scope (intra, inter, flat), algorithm, member, ranks,\n"
     "                 in, out, coarse, blocks, counts, steps\n"
     "  steps          {op, text}; peer, round, block, blocks, bytes if it has them\n"
     "  counts         of this rank and all slices: rounds, steps, messages,\n"
     "                 sent_bytes, inter_messages, inter_sent_bytes,\n"
     "                 slot_bytes_written, slot_bytes_read, fetched_bytes"},
    {"cost", plan_cost, "COLLECTIVE --shape SHAPE [SIZE...]", "predicted times of all plans, and why others are slower",
     "  coll_plan cost allreduce --shape 4x96 64K 16M\n"
     "  coll_plan cost bcast --shape 32x1 --table 8 1K 128K 16M\n"
     "  coll_plan cost bcast --shape 8x1 --model net_alpha_us=3 --model net_gb_s=50\n\n"
     "Algorithms that cannot be used are at the end, with the reason. The sum of the columns is the time. A column of zeros is not "
     "shown. Each column is a part of the time:\n"
     "  latency   messages between nodes, one after the other\n"
     "  uplinks   the same bytes on the uplinks of groups (HX_NODE_GROUPS)\n"
     "  wire      the bytes of these messages, on links or by cores that copy them\n"
     "  messages  CPU time of the messages that are not part of latency, or of all\n            messages if that is more\n"
     "  flags     flags passed from core to core inside a node\n"
     "  memory    copies and reductions inside a node\n"
     "  switches  context switches, with more ranks than cores (--cpus)\n\n"
     "With HX_NODE_GROUPS a last column shows the bytes that leave or enter the busiest group, whichever is more.\n\n"
     "--json writes one object:\n"
     "  hierax_cost  version of these keys: 1\n"
     "  the call     collective, dtype, model: {the names of --model}\n"
     "  points       {shape, ranks, nodes, bytes, ranks_per_core, constants,\n"
     "               fastest, planning_us (--time), candidates, impossible}\n"
     "  constants    {node, network}: the sources of the parameters, or null\n"
     "  candidates   by time: {plan, us, ratio, terms_us, rounds, sent_bytes,\n               uplink_bytes, why};\n"
     "               why is null for the first\n"
     "  terms_us     {latency, uplinks, wire, messages, flags, memory, switches,\n               rest}\n"
     "  impossible   {algorithm, why}"},
    {"draw", plan_draw, "COLLECTIVE --shape SHAPE [SIZE]", "an SVG picture: a row for each rank, arrows for messages",
     "  coll_plan draw allreduce --shape 3,1,2 -o plan.svg\n"
     "  coll_plan draw allreduce --shape 8x1 --algorithm ring 1M > ring.svg\n"
     "  coll_plan draw bcast --shape 4x8 --rank 0 -o root.svg\n\n"
     "Rows are grouped by nodes, columns by levels. Arrows show what each rank sends, reads or waits for. In a browser, point at "
     "an arrow to see its numbers. A picture shows at most 64 ranks. coll_report draws it, also from --json:\n\n"
     "  version      hierax_rounds, 1\n"
     "  the call     collective, shape, plan, bytes, ranks, nodes, us (predicted)\n"
     "  its slices   fine_slices, coarse_slices\n"
     "  rows         members: the ranks of each node\n"
     "  columns      levels: {where, name}, rounds: {level}\n"
     "  arrows       {kind, round, from, to, order, bytes, messages}"},
    {"compare", plan_compare, "COLLECTIVE A B --shape SHAPE [SIZE...]", "two plans over sizes: times, ratio, crossover, plot",
     "  coll_plan compare allreduce ring circulant --shape 32x1 --svg curves.svg\n"
     "  coll_plan compare alltoall hier flat --shape 4x96\n"
     "  coll_plan compare bcast 'hier(-,chain,nary) x1' best --shape 4x8 1K 1M\n\n"
     "Times are predicted. A and B are names of plans, as coll_plan cost shows them, or an algorithm, flat, hier or best. An "
     "algorithm, flat, hier or best stands for the fastest plan of that kind at each size. The ratio is the time of A "
     "divided by the time of B. From a crossover on, the other plan is faster. coll_report draws the plot, also from --json:\n\n"
     "  version      hierax_compare, 1\n"
     "  the call     collective, shape, sides: [A, B]\n"
     "  points       {bytes, us: [of A, of B], plans: [of A, of B]}\n"
     "  crossovers   {bytes, faster: A or B}"},
    {"verify", plan_verify, "[COLLECTIVE...]", "check all algorithms and plans, with 1, 2 and the most lanes",
     "  coll_plan verify --all --max-ranks 64\n"
     "  coll_plan verify allreduce --algorithm rdh --shape 8,7:cyclic\n\n"
     "The checker runs the plans of all ranks together."},
    {"steps", plan_steps, "[COLLECTIVE...] [--shape SHAPE...]", "plans as JSON, for programs that follow them step by step",
     "  coll_plan steps allreduce --algorithm ring --max-ranks 8 > ring.jsonl\n"
     "  coll_plan steps --shape 4,4 --shape 3,1,2 > shapes.jsonl\n\n"
     "Each line is one JSON object: a plan with all its steps. Without --shape there is a line for each algorithm and each number "
     "of ranks from 2 to --max-ranks. The ranks are on nodes of their own, or on one node if the algorithm needs shared memory. With "
     "--shape there is a line for each algorithm that a plan for this shape can use. The plan is the one that is predicted to be the "
     "fastest for --size. The steps move the shortest vector whose blocks all have the same length. The vector travels in one slice. "
     "A plan on one rank runs its stages in order of their levels. All numbers below count elements.\n\n"
     "  hierax_steps   version of these keys: 1\n"
     "  the collective collective; gives, gets: all, own, root, pairs or nothing;\n"
     "                 reduces, prefix, exclusive; one_buffer: in and out are one;\n"
     "                 root, or null\n"
     "  the plan       algorithm, about, source; plan, shape, node_of: each rank's\n                 node; ranks\n"
     "  ranks          {in, out, stages}; in and out: [first element of the vector,\n"
     "                 number, ...], in the order of the rank's buffer\n"
     "  stages         level; after: the level it waits for, -1: none; group: the\n"
     "                 same number on all ranks whose stages meet; scope,\n"
     "                 algorithm, ranks, steps\n"
     "  steps          a list each, see below\n"
     "  places         [space, rank, offset, number, ...]; space is a name that\n"
     "                 coll_plan explain uses too\n\n"
     "Each stage of a rank has its own scratch and slot. A message of no elements is not sent. The steps:\n"
     "  [\"copy\" or \"fetch\", to, from]\n"
     "  [\"reduce\", to, from, from, ...]\n"
     "  [\"send\" or \"recv\", handle, round, rank, place]\n"
     "  [\"join\", first handle, number]\n"
     "  [\"publish\", rank, flag]\n"
     "  [\"await\", flag, [rank, ...]]\n"
     "  [\"elect\", flag, [rank, ...], steps that the others skip]\n"
     "  [\"learn\"]"},
    {"big", plan_big, "[COLLECTIVE...]", "check plans for large nodes: no small messages, slots fit the cache",
     "  coll_plan big --shape 64x192 256M\n\n"
     "It checks the plans that the planner chooses for large nodes. They must not send small messages between nodes. The slots "
     "of a node must fit into half of its last-level cache."},
    {0}};

static FILE *text_open(char **text, size_t *bytes)
{
    return plan_memory(open_memstream(text, bytes));
}

/* The options that a command takes, or all (-1), each with the commands that take it. */
static void options_show(int command, const struct option_row *options, struct option_row shown[PLAN_OPTIONS_MAX + 1])
{
    unsigned all = 0;
    int n = 0;

    for (int c = 0; plan_commands[c].name; c++)
        all |= 1u << c;
    for (int t = 0; options[t].name && n < PLAN_OPTIONS_MAX; t++) {
        const unsigned takers = options[t].commands;
        const char *separator = "";
        char *help;
        size_t bytes;
        if (command >= 0 && !(takers & 1u << command))
            continue;
        shown[n++] = options[t];
        if (command >= 0 || takers == all)
            continue;
        FILE *text = text_open(&help, &bytes);
        for (int c = 0; plan_commands[c].name; c++)
            if (takers & 1u << c) {
                fprintf(text, "%s%s", separator, plan_commands[c].name);
                separator = ", ";
            }
        fprintf(text, ": %s", options[t].help);
        fclose(text);
        shown[n - 1].help = help;
    }
}

int plan_help(int command, const struct option_row *options)
{
    static struct option_row shown[PLAN_OPTIONS_MAX + 1]; /* the texts in it need not be freed */
    char args[128] = "COMMAND [COLLECTIVE...]", *about;
    size_t bytes;
    FILE *doc = text_open(&about, &bytes);
    int models = command < 0;

    options_show(command, options, shown);
    for (int t = 0; shown[t].name; t++)
        models |= !strcmp(shown[t].name, "model");
    if (command >= 0) {
        const struct plan_command *c = &plan_commands[command];
        snprintf(args, sizeof(args), "%s %s", c->name, c->args);
        fprintf(doc, "%c%s.\n\v%s\n\n", toupper((unsigned char)c->about[0]), c->about + 1, c->teaches);
    } else {
        fprintf(doc, "Show, without a job, the plan that Hierax chooses for a collective, a shape and a size.\n\n");
        for (int c = 0; plan_commands[c].name; c++)
            fprintf(doc, "  %-8s %s\n", plan_commands[c].name, plan_commands[c].about);
        fprintf(doc, "\vcoll_plan COMMAND --help describes a command's options and output, with examples.\n\n");
    }
    fprintf(doc, "Collectives:");
    for (int c = 0; c < HX_COLL_COUNT; c++)
        fprintf(doc, " %s", hx_coll_name((enum hx_coll)c));
    if (models)
        fprintf(doc, "\n\nParameters of the model (gb_s: 10^9 bytes/s):");
    for (int i = 0; models && hx_cost_parameters[i].name; i++)
        fprintf(doc, "\n  %-15s %s", hx_cost_parameters[i].name, hx_cost_parameters[i].about);
    fprintf(doc, "\n\nThe exit status is 0; 1 if a check fails or output cannot be written; 2 for a wrong command line.");
    fclose(doc);
    const int status = option_answer(&(struct option_tool){args, about, shown, NULL}, OPTION_HELP, "coll_plan", NULL);
    free(about);
    return status;
}
