/* RPROP training with FANN in double precision: one net, all samples an epoch, linear outputs, softsign elsewhere. */

#include <doublefann.h>
#include <stdlib.h>

static void copy(double *from, double **to, unsigned n_rows, unsigned n_columns) {
    for (unsigned i = 0; i < n_rows; i++)
        for (unsigned j = 0; j < n_columns; j++) to[i][j] = from[i * n_columns + j];
}

static struct fann *new_net(int n_layers, const unsigned *sizes, int shortcuts, double first_step) {
    struct fann *net = shortcuts ? fann_create_shortcut_array(n_layers, sizes)
                                 : fann_create_standard_array(n_layers, sizes);
    fann_set_training_algorithm(net, FANN_TRAIN_RPROP);
    fann_set_train_error_function(net, FANN_ERRORFUNC_LINEAR);
    fann_set_activation_function_hidden(net, FANN_ELLIOT_SYMMETRIC);
    fann_set_activation_steepness_hidden(net, 1.0);
    fann_set_activation_function_output(net, FANN_LINEAR);
    fann_set_activation_steepness_output(net, 1.0);
    fann_set_rprop_delta_zero(net, first_step);
    return net;
}

/* weights: in FANN's order, those of a unit together, the bias last; overwritten with the trained weights. */
int train(int n_layers, const unsigned *sizes, int shortcuts, double first_step, double *weights, int n_samples,
          double *inputs, double *targets, int n_epochs) {
    struct fann *net = new_net(n_layers, sizes, shortcuts, first_step);
    unsigned n_weights = fann_get_total_connections(net);
    struct fann_connection *connections = malloc(n_weights * sizeof *connections);
    fann_get_connection_array(net, connections);
    for (unsigned k = 0; k < n_weights; k++) connections[k].weight = weights[k];
    fann_set_weight_array(net, connections, n_weights);
    struct fann_train_data *data = fann_create_train(n_samples, sizes[0], sizes[n_layers - 1]);
    copy(inputs, data->input, n_samples, sizes[0]);
    copy(targets, data->output, n_samples, sizes[n_layers - 1]);
    for (int epoch = 0; epoch < n_epochs; epoch++) fann_train_epoch(net, data);
    fann_get_connection_array(net, connections);
    for (unsigned k = 0; k < n_weights; k++) weights[k] = connections[k].weight;
    free(connections);
    fann_destroy_train(data);
    fann_destroy(net);
    return n_weights;
}
