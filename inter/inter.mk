hx_sources += inter/fabric.h inter/endpoint.c inter/negotiate.c inter/address.c inter/message.c inter/credit.c inter/completion.c inter/bounce.c
